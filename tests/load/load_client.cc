#include "tests/load/load_client.h"

#include <chrono>

#include "tests/load/keys.h"

namespace kvist::blackbox {
namespace {

constexpr int kValueBytes = 256;

}  // namespace

CallKind LoadClient::NextKind() {
  const std::int64_t dice = random_.Below(100);
  return dice < 50 ? CallKind::kPut : dice < 80 ? CallKind::kRange : CallKind::kTxn;
}

void LoadClient::Run(const std::atomic<bool>& stop) {
  while (!stop && fault_.empty()) {
    const CallKind kind = NextKind();
    const auto begin = std::chrono::steady_clock::now();
    const grpc::Status status = kind == CallKind::kPut ? Put() : kind == CallKind::kRange ? Range() : Txn();
    const auto spent = std::chrono::steady_clock::now() - begin;
    microseconds_[static_cast<std::size_t>(kind)].push_back(
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count()));
    if (!status.ok()) Fault("a call failed: " + Describe(status));
  }
}

grpc::Status LoadClient::Put() {
  Call call;
  etcdserverpb::PutRequest request;
  request.set_key(LoadKey(random_.Below(kLoadKeys)));
  request.set_value(std::string(kValueBytes, 'v'));
  etcdserverpb::PutResponse response;
  grpc::Status status = client_.kv->Put(&call, request, &response);
  if (status.ok()) ++puts_;
  return status;
}

grpc::Status LoadClient::Range() {
  Call call;
  etcdserverpb::RangeRequest request;
  request.set_key(LoadKey(random_.Below(kLoadKeys)));
  if (random_.Percent(50)) {
    request.set_range_end(PrefixEnd("load/"));
    request.set_limit(20);
  }
  etcdserverpb::RangeResponse response;
  grpc::Status status = client_.kv->Range(&call, request, &response);
  for (const mvccpb::KeyValue& kv : response.kvs()) {
    if (kv.value().size() != kValueBytes) Fault("a value of another size: " + Describe(kv));
  }
  return status;
}

// Two puts and a read of what they wrote, if a key is not new; else one put.
grpc::Status LoadClient::Txn() {
  const std::int64_t first = random_.Below(kLoadKeys - 1);
  etcdserverpb::TxnRequest request;
  etcdserverpb::Compare* compare = request.add_compare();
  compare->set_key(LoadKey(first));
  compare->set_target(etcdserverpb::Compare::VERSION);
  compare->set_result(etcdserverpb::Compare::GREATER);
  for (int i = 0; i < 3; ++i) {
    etcdserverpb::RequestOp* op = i == 2 ? request.add_failure() : request.add_success();
    op->mutable_request_put()->set_key(LoadKey(first + i % 2));
    op->mutable_request_put()->set_value(std::string(kValueBytes, 't'));
  }
  etcdserverpb::RangeRequest* range = request.add_success()->mutable_request_range();
  range->set_key(LoadKey(first));
  Call call;
  etcdserverpb::TxnResponse response;
  grpc::Status status = client_.kv->Txn(&call, request, &response);
  if (!status.ok()) return status;
  puts_ += response.succeeded() ? 2 : 1;
  if (!response.succeeded()) return status;
  const etcdserverpb::RangeResponse& read = response.responses(2).response_range();
  if (read.kvs_size() != 1 || read.kvs(0).mod_revision() != response.header().revision()) {
    Fault("a Txn does not see its own put: " + Describe(response));
  }
  return status;
}

}  // namespace kvist::blackbox
