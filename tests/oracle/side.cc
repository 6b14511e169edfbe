#include "tests/oracle/side.h"

#include <algorithm>

namespace kvist::blackbox {

Side::Side(int port, const Dialect& dialect) : client_(port), watches_(client_, dialect) {}

std::vector<Reply> Side::Play(std::span<const Operation> operations) {
  std::vector<Reply> replies;
  replies.reserve(operations.size());
  for (const Operation& operation : operations) {
    replies.push_back(PlayOne(operation));
    if (!replies.back().faults.empty()) break;
  }
  return replies;
}

Reply Side::Settle() {
  Reply reply;
  watches_.Settle(progress_, &reply);
  return reply;
}

Reply Side::PlayOne(Operation operation) {
  Resolve(progress_, Request(&operation));
  Reply reply;
  std::visit([&](const auto& request) { PlayRequest(request, &reply); }, operation);
  return reply;
}

template <typename Response>
void Side::Take(const grpc::Status& status, const Response& response, Reply* reply) {
  reply->status = status;
  if (!status.ok()) return;
  progress_.current = std::max(progress_.current, response.header().revision());
  reply->Add("", response);
}

void Side::PlayRequest(const etcdserverpb::RangeRequest& request, Reply* reply) {
  Call call;
  etcdserverpb::RangeResponse response;
  const grpc::Status status = client_.kv->Range(&call, request, &response);
  Take(status, response, reply);
}

void Side::PlayRequest(const etcdserverpb::PutRequest& request, Reply* reply) {
  Call call;
  etcdserverpb::PutResponse response;
  const grpc::Status status = client_.kv->Put(&call, request, &response);
  Take(status, response, reply);
}

void Side::PlayRequest(const etcdserverpb::DeleteRangeRequest& request, Reply* reply) {
  Call call;
  etcdserverpb::DeleteRangeResponse response;
  const grpc::Status status = client_.kv->DeleteRange(&call, request, &response);
  Take(status, response, reply);
}

void Side::PlayRequest(const etcdserverpb::TxnRequest& request, Reply* reply) {
  Call call;
  etcdserverpb::TxnResponse response;
  const grpc::Status status = client_.kv->Txn(&call, request, &response);
  Take(status, response, reply);
}

void Side::PlayRequest(const etcdserverpb::CompactionRequest& request, Reply* reply) {
  const bool is_effective =
      request.revision() > progress_.compacted && request.revision() <= progress_.current;
  if (is_effective) watches_.Settle(progress_, reply);
  Call call;
  etcdserverpb::CompactionResponse response;
  const grpc::Status status = client_.kv->Compact(&call, request, &response);
  Take(status, response, reply);
  if (status.ok()) progress_.compacted = request.revision();
}

// How a reply is cut into messages is the server's choice: they are joined, and then compared.
void Side::PlayRequest(const StreamedRange& step, Reply* reply) {
  Call call;
  const auto stream = client_.kv->RangeStream(&call, step.request);
  etcdserverpb::RangeResponse all;
  etcdserverpb::RangeStreamResponse part;
  while (stream->Read(&part)) {
    if (all.has_header()) reply->faults.emplace_back("a header before the last message of a RangeStream");
    all.MergeFrom(part.range_response());
  }
  Take(stream->Finish(), all, reply);
}

void Side::PlayRequest(const WatchStep& step, Reply* reply) { watches_.Play(step, progress_, reply); }

}  // namespace kvist::blackbox
