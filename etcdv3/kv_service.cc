// See kv_service.h. The order of the checks is etcd's: shape, then size, then what the engine finds.

#include "etcdv3/kv_service.h"

#include <utility>
#include <variant>

#include "etcdv3/convert.h"
#include "etcdv3/encode.h"
#include "etcdv3/errors.h"
#include "etcdv3/validate.h"

namespace kvist::etcdv3 {
namespace {

// The call's TxnRequest; that of an earlier call lends the capacity of its lists.
kv::TxnRequest* HoldTxn(UnaryCall* call) {
  auto* held = std::get_if<kv::TxnRequest>(&call->request);
  return held != nullptr ? held : &call->request.emplace<kv::TxnRequest>();
}

absl::Status ParseTxn(std::string_view message, std::int64_t ops_max, kv::TxnRequest* request) {
  bool too_deep = false;
  if (!DecodeTxn(message, request, &too_deep)) return too_deep ? TooManyOpsError() : MalformedRequestError();
  return CheckTxn(*request, ops_max);
}

}  // namespace

absl::Status KvService::Range(std::string_view message, ReplyBuffer* reply) {
  kv::RangeRequest request;
  if (!DecodeRange(message, &request)) return MalformedRequestError();
  if (absl::Status status = CheckRange(request); !status.ok()) return status;
  kv::RangeResult result;
  result.kvs = std::move(reply->body());  // the store appends the pairs behind the room for the header
  absl::Status status = engine_->Range(request, &result);
  reply->body() = std::move(result.kvs);
  if (!status.ok()) return FromEngine(status);
  FinishRangeReply(options_.identity, result, reply);
  return status;
}

void KvService::Range(UnaryCall* call) { call->Finish(Range(call->message(), call->reply())); }

void KvService::Write(UnaryCall* call, const absl::Status& shape) {
  if (!shape.ok()) return call->Finish(shape);
  const absl::Status size = CheckWriteSize(call->message().size(), options_.request_bytes_max);
  if (!size.ok()) return call->Finish(size);
  call->Submit(engine_, options_.lead, this);
}

void KvService::Put(UnaryCall* call) {
  auto& request = call->request.emplace<kv::PutRequest>();
  const bool decoded = DecodePut(call->message(), &request);
  Write(call, decoded ? CheckPut(request) : MalformedRequestError());
}

void KvService::DeleteRange(UnaryCall* call) {
  auto& request = call->request.emplace<kv::DeleteRangeRequest>();
  const bool decoded = DecodeDeleteRange(call->message(), &request);
  Write(call, decoded ? CheckDeleteRange(request) : MalformedRequestError());
}

void KvService::Compact(UnaryCall* call) {
  auto& request = call->request.emplace<kv::CompactRequest>();
  const bool decoded = DecodeCompact(call->message(), &request);
  Write(call, decoded ? absl::OkStatus() : MalformedRequestError());
}

void KvService::Txn(UnaryCall* call) {
  kv::TxnRequest* request = HoldTxn(call);
  absl::Status shape = ParseTxn(call->message(), options_.txn_ops_max, request);
  if (!shape.ok() || !kv::IsReadOnly(*request)) return Write(call, shape);
  call->Finish(ReadOnlyTxn(*request, call->reply()));
}

absl::Status KvService::ReadOnlyTxn(const kv::TxnRequest& request, ReplyBuffer* reply) {
  kv::TxnResult result;
  if (absl::Status status = engine_->ReadOnlyTxn(request, &result); !status.ok()) return FromEngine(status);
  EncodeTxn(options_.identity, result, reply);
  return absl::OkStatus();
}

void KvService::OnWritten(UnaryCall* call) {
  if (!call->status.ok()) return call->Finish(FromEngine(call->status));
  struct Encoder {
    const Identity& identity;
    ReplyBuffer* reply;
    void operator()(const kv::PutResult& result) const { EncodePut(identity, result, reply); }
    void operator()(const kv::DeleteRangeResult& result) const { EncodeDeleteRange(identity, result, reply); }
    void operator()(const kv::TxnResult& result) const { EncodeTxn(identity, result, reply); }
    void operator()(const kv::CompactResult& result) const { EncodeCompact(identity, result, reply); }
  };
  std::visit(Encoder{options_.identity, call->reply()}, call->result);
  call->Finish(absl::OkStatus());
}

}  // namespace kvist::etcdv3
