// See encode.h. The field numbers are those of etcdserverpb's rpc.proto.

#include "etcdv3/encode.h"

#include <cstdint>
#include <string_view>

#include "etcdv3/wire.h"

namespace kvist::etcdv3 {
namespace {

std::uint64_t Unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Inside a Txn each operation's header has the revision alone; a nested Txn's is there, and empty.
std::size_t InnerHeaderSize(kv::Revision revision) {
  return BytesFieldSize(VarintFieldSize(Unsigned(revision)));
}

void AppendInnerHeader(kv::Revision revision, std::string* out) {
  AppendBytesHeader(1, VarintFieldSize(Unsigned(revision)), out);
  AppendVarintField(3, Unsigned(revision), out);
}

// Each response of a Txn is written after its size, so sizes are computed first; SizeOf and Append of one
// type must agree.
std::size_t SizeOf(const kv::RangeResult& result) {
  return InnerHeaderSize(result.revision) + result.kvs.size() + VarintFieldSize(result.more ? 1 : 0) +
         VarintFieldSize(Unsigned(result.count));
}

void Append(const kv::RangeResult& result, std::string* out) {
  AppendInnerHeader(result.revision, out);
  out->append(result.kvs);
  AppendVarintField(3, result.more ? 1 : 0, out);
  AppendVarintField(4, Unsigned(result.count), out);
}

std::size_t SizeOf(const kv::PutResult& result) {
  return InnerHeaderSize(result.revision) + (result.has_prev_kv ? BytesFieldSize(result.prev_kv.size()) : 0);
}

void Append(const kv::PutResult& result, std::string* out) {
  AppendInnerHeader(result.revision, out);
  if (result.has_prev_kv) AppendBytesField(2, result.prev_kv, out);
}

std::size_t SizeOf(const kv::DeleteRangeResult& result) {
  return InnerHeaderSize(result.revision) + VarintFieldSize(Unsigned(result.deleted)) +
         result.prev_kvs.size();
}

void Append(const kv::DeleteRangeResult& result, std::string* out) {
  AppendInnerHeader(result.revision, out);
  AppendVarintField(2, Unsigned(result.deleted), out);
  out->append(result.prev_kvs);
}

std::size_t SizeOf(const kv::TxnResult& result);
void Append(const kv::TxnResult& result, std::string* out);

// A ResponseOp: one field, whose number follows the order of the alternatives.
std::size_t SizeOf(const kv::OpResult& op) {
  return std::visit([](const auto& result) { return BytesFieldSize(SizeOf(result)); }, op.result);
}

void Append(const kv::OpResult& op, std::string* out) {
  std::visit(
      [&](const auto& result) {
        AppendBytesHeader(1 + static_cast<int>(op.result.index()), SizeOf(result), out);
        Append(result, out);
      },
      op.result);
}

// The fields of a TxnResponse behind its header.
std::size_t TxnFieldsSize(const kv::TxnResult& result) {
  std::size_t size = VarintFieldSize(result.succeeded ? 1 : 0);
  for (const kv::OpResult& op : result.responses) size += BytesFieldSize(SizeOf(op));
  return size;
}

void AppendTxnFields(const kv::TxnResult& result, std::string* out) {
  AppendVarintField(2, result.succeeded ? 1 : 0, out);
  for (const kv::OpResult& op : result.responses) {
    AppendBytesHeader(3, SizeOf(op), out);
    Append(op, out);
  }
}

std::size_t SizeOf(const kv::TxnResult& result) {
  return InnerHeaderSize(result.revision) + TxnFieldsSize(result);
}

void Append(const kv::TxnResult& result, std::string* out) {
  AppendInnerHeader(result.revision, out);
  AppendTxnFields(result, out);
}

}  // namespace

std::size_t WriteHeader(const Identity& identity, kv::Revision revision, char* out) {
  char fields[ReplyBuffer::kRoomBytes];
  char* end = WriteVarintField(1, identity.cluster_id, fields);
  end = WriteVarintField(2, identity.member_id, end);
  end = WriteVarintField(3, Unsigned(revision), end);
  end = WriteVarintField(4, identity.raft_term, end);
  const auto size = static_cast<std::size_t>(end - fields);
  char* begin = WriteBytesHeader(1, size, out);
  std::string_view(fields, size).copy(begin, size);
  return static_cast<std::size_t>(begin - out) + size;
}

void FinishRangeReply(const Identity& identity, const kv::RangeResult& result, ReplyBuffer* reply) {
  AppendVarintField(3, result.more ? 1 : 0, &reply->body());
  AppendVarintField(4, Unsigned(result.count), &reply->body());
  reply->SetHeader(identity, result.revision);
}

void EncodePut(const Identity& identity, const kv::PutResult& result, ReplyBuffer* reply) {
  if (result.has_prev_kv) AppendBytesField(2, result.prev_kv, &reply->body());
  reply->SetHeader(identity, result.revision);
}

void EncodeDeleteRange(const Identity& identity, const kv::DeleteRangeResult& result, ReplyBuffer* reply) {
  AppendVarintField(2, Unsigned(result.deleted), &reply->body());
  reply->body().append(result.prev_kvs);
  reply->SetHeader(identity, result.revision);
}

void EncodeTxn(const Identity& identity, const kv::TxnResult& result, ReplyBuffer* reply) {
  reply->body().reserve(reply->body().size() + TxnFieldsSize(result));
  AppendTxnFields(result, &reply->body());
  reply->SetHeader(identity, result.revision);
}

void EncodeCompact(const Identity& identity, const kv::CompactResult& result, ReplyBuffer* reply) {
  reply->SetHeader(identity, result.revision);
}

void EncodeWatchHead(const Identity& identity, const watch::Delivery& delivery, ReplyBuffer* reply) {
  using Kind = watch::DeliveryKind;
  const bool created = delivery.kind == Kind::kCreated || delivery.kind == Kind::kCreateFailed;
  const bool canceled = delivery.kind == Kind::kCreateFailed || delivery.kind == Kind::kCanceled ||
                        delivery.kind == Kind::kCompacted;
  std::string* out = &reply->body();
  AppendVarintField(2, Unsigned(delivery.watch_id), out);
  AppendVarintField(3, created ? 1 : 0, out);
  AppendVarintField(4, canceled ? 1 : 0, out);
  if (delivery.extras != nullptr) {
    AppendVarintField(5, Unsigned(delivery.extras->compact_revision), out);
    if (!delivery.extras->cancel_reason.empty()) AppendBytesField(6, delivery.extras->cancel_reason, out);
  }
  reply->SetHeader(identity, delivery.revision);
}

void AppendFragmentMark(ReplyBuffer* reply) { AppendVarintField(7, 1, &reply->body()); }

}  // namespace kvist::etcdv3
