// See convert.h. The field numbers are those of etcdserverpb's rpc.proto.

#include "etcdv3/convert.h"

#include <cstdint>
#include <utility>

#include "etcdv3/wire.h"

namespace kvist::etcdv3 {
namespace {

bool IsVarint(const WireField& field) { return field.type == WireType::kVarint; }
bool IsBytes(const WireField& field) { return field.type == WireType::kBytes; }

std::int64_t Int64(const WireField& field) { return static_cast<std::int64_t>(field.varint); }
bool Bool(const WireField& field) { return field.varint != 0; }

// Enums are 32 bits wide on the wire; a value that the enum does not have is kept for validation.
template <typename Enum>
Enum EnumOf(const WireField& field) {
  return static_cast<Enum>(static_cast<std::int32_t>(static_cast<std::uint32_t>(field.varint)));
}

// Where a Compare's number or value was given. The union counts only where it matches the target.
struct CompareUnion {
  int field = 0;
  std::int64_t number = 0;
  std::string_view value;
};

constexpr int kCompareUnionFirst = 4;  // version, create_revision, mod_revision, value, lease
constexpr int kCompareUnionValue = 7;
constexpr int kCompareUnionLast = 8;
constexpr int kCompareRangeEnd = 64;

void ReadCompareField(const WireField& field, kv::Compare* compare, CompareUnion* given) {
  if (IsVarint(field)) {
    if (field.number == 1) compare->result = EnumOf<kv::CompareResult>(field);
    if (field.number == 2) compare->target = EnumOf<kv::CompareTarget>(field);
    if (field.number >= kCompareUnionFirst && field.number <= kCompareUnionLast &&
        field.number != kCompareUnionValue) {
      *given = {field.number, Int64(field), {}};
    }
  } else if (IsBytes(field)) {
    if (field.number == 3) compare->key = field.bytes;
    if (field.number == kCompareUnionValue) *given = {field.number, 0, field.bytes};
    if (field.number == kCompareRangeEnd) compare->range_end = field.bytes;
  }
}

bool DecodeCompare(std::string_view message, kv::Compare* compare) {
  WireReader reader(message);
  WireField field;
  CompareUnion given;
  while (reader.Next(&field)) ReadCompareField(field, compare, &given);
  if (given.field == kCompareUnionFirst + static_cast<int>(compare->target)) {
    compare->number = given.number;
    compare->value = given.value;
  }
  return reader.ok();
}

// How deep in nested Txns the decoding is.
struct Nesting {
  int depth = 0;
  bool too_deep = false;
};

bool DecodeTxnInto(std::string_view message, Nesting* nesting, kv::TxnRequest* request);

// Makes `op` hold a Request, keeping the one it holds: the parts of a field given twice are merged.
template <typename Request>
Request* Hold(kv::Op* op, bool* given) {
  Request* held = *given ? std::get_if<Request>(&op->request) : nullptr;
  *given = true;
  return held != nullptr ? held : &op->request.emplace<Request>();
}

bool DecodeOp(std::string_view message, Nesting* nesting, kv::Op* op) {
  auto& empty = op->request.emplace<kv::RangeRequest>();
  empty.with_count = false;
  bool given = false;
  bool ok = true;
  WireReader reader(message);
  WireField field;
  while (ok && reader.Next(&field)) {
    if (!IsBytes(field)) continue;
    if (field.number == 1) ok = DecodeRange(field.bytes, Hold<kv::RangeRequest>(op, &given));
    if (field.number == 2) ok = DecodePut(field.bytes, Hold<kv::PutRequest>(op, &given));
    if (field.number == 3) ok = DecodeDeleteRange(field.bytes, Hold<kv::DeleteRangeRequest>(op, &given));
    if (field.number == 4) ok = DecodeTxnInto(field.bytes, nesting, Hold<kv::TxnRequest>(op, &given));
  }
  return ok && reader.ok();
}

bool DecodeTxnInto(std::string_view message, Nesting* nesting, kv::TxnRequest* request) {
  nesting->too_deep = nesting->depth > kTxnDepthMax;
  if (nesting->too_deep) return false;
  ++nesting->depth;
  bool ok = true;
  WireReader reader(message);
  WireField field;
  while (ok && reader.Next(&field)) {
    if (!IsBytes(field)) continue;
    if (field.number == 1) ok = DecodeCompare(field.bytes, &request->compare.emplace_back());
    if (field.number == 2) ok = DecodeOp(field.bytes, nesting, &request->success.emplace_back());
    if (field.number == 3) ok = DecodeOp(field.bytes, nesting, &request->failure.emplace_back());
  }
  --nesting->depth;
  return ok && reader.ok();
}

// The filters are a repeated enum, which may come one by one or packed. Unknown ones are ignored.
void AddFilter(std::uint64_t filter, watch::WatchRequest* request) {
  if (filter == 0) request->no_put = true;
  if (filter == 1) request->no_delete = true;
}

void ReadWatchCreateNumber(const WireField& field, watch::WatchRequest* request) {
  switch (field.number) {
    case 3:
      request->start_revision = Int64(field);
      break;
    case 4:
      request->progress_notify = Bool(field);
      break;
    case 5:
      AddFilter(field.varint, request);
      break;
    case 6:
      request->prev_kv = Bool(field);
      break;
    case 7:
      request->watch_id = Int64(field);
      break;
    case 8:
      request->fragment = Bool(field);
      break;
    default:
      break;
  }
}

bool DecodeWatchCreate(std::string_view message, watch::WatchRequest* request) {
  bool ok = true;
  WireReader reader(message);
  WireField field;
  while (ok && reader.Next(&field)) {
    if (IsVarint(field)) ReadWatchCreateNumber(field, request);
    if (!IsBytes(field)) continue;
    if (field.number == 1) request->key = field.bytes;
    if (field.number == 2) request->range_end = field.bytes;
    if (field.number == 5) {
      ok = ForEachPackedVarint(field.bytes, [&](std::uint64_t filter) { AddFilter(filter, request); });
    }
  }
  return ok && reader.ok();
}

bool DecodeWatchCancel(std::string_view message, WatchCancel* request) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (IsVarint(field) && field.number == 1) request->watch_id = Int64(field);
  }
  return reader.ok();
}

void ReadRangeNumber(const WireField& field, kv::RangeRequest* request) {
  switch (field.number) {
    case 3:
      request->limit = Int64(field);
      break;
    case 4:
      request->revision = Int64(field);
      break;
    case 5:
      request->sort_order = EnumOf<kv::SortOrder>(field);
      break;
    case 6:
      request->sort_target = EnumOf<kv::SortTarget>(field);
      break;
    case 8:
      request->keys_only = Bool(field);
      break;
    case 9:
      request->count_only = Bool(field);
      break;
    case 10:
      request->min_mod_revision = Int64(field);
      break;
    case 11:
      request->max_mod_revision = Int64(field);
      break;
    case 12:
      request->min_create_revision = Int64(field);
      break;
    case 13:
      request->max_create_revision = Int64(field);
      break;
    default:
      break;  // 7, serializable, means nothing on one member
  }
}

}  // namespace

bool DecodeRange(std::string_view message, kv::RangeRequest* request) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (IsVarint(field)) {
      ReadRangeNumber(field, request);
    } else if (IsBytes(field)) {
      if (field.number == 1) request->key = field.bytes;
      if (field.number == 2) request->range_end = field.bytes;
    }
  }
  return reader.ok();
}

bool DecodePut(std::string_view message, kv::PutRequest* request) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (IsVarint(field)) {
      if (field.number == 3) request->lease = Int64(field);
      if (field.number == 4) request->prev_kv = Bool(field);
      if (field.number == 5) request->ignore_value = Bool(field);
      if (field.number == 6) request->ignore_lease = Bool(field);
    } else if (IsBytes(field)) {
      if (field.number == 1) request->key = field.bytes;
      if (field.number == 2) request->value = field.bytes;
    }
  }
  return reader.ok();
}

bool DecodeDeleteRange(std::string_view message, kv::DeleteRangeRequest* request) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (IsVarint(field) && field.number == 3) request->prev_kv = Bool(field);
    if (IsBytes(field) && field.number == 1) request->key = field.bytes;
    if (IsBytes(field) && field.number == 2) request->range_end = field.bytes;
  }
  return reader.ok();
}

bool DecodeTxn(std::string_view message, kv::TxnRequest* request, bool* too_deep) {
  request->compare.clear();
  request->success.clear();
  request->failure.clear();
  Nesting nesting;
  const bool ok = DecodeTxnInto(message, &nesting, request);
  *too_deep = nesting.too_deep;
  return ok;
}

bool DecodeCompact(std::string_view message, kv::CompactRequest* request) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (!IsVarint(field)) continue;
    if (field.number == 1) request->revision = Int64(field);
    if (field.number == 2) request->physical = Bool(field);
  }
  return reader.ok();
}

bool IsMessage(std::string_view message) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
  }
  return reader.ok();
}

bool DecodeAlarmAction(std::string_view message, AlarmAction* action) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (IsVarint(field) && field.number == 1) *action = EnumOf<AlarmAction>(field);
  }
  return reader.ok();
}

bool DecodeWatch(std::string_view message, WatchCommand* command) {
  const auto hold = [command]<typename Request>(std::in_place_type_t<Request>) {
    auto* held = std::get_if<Request>(command);
    return held != nullptr ? held : &command->emplace<Request>();
  };
  bool ok = true;
  WireReader reader(message);
  WireField field;
  while (ok && reader.Next(&field)) {
    if (!IsBytes(field)) continue;
    if (field.number == 1) ok = DecodeWatchCreate(field.bytes, hold(std::in_place_type<watch::WatchRequest>));
    if (field.number == 2) ok = DecodeWatchCancel(field.bytes, hold(std::in_place_type<WatchCancel>));
    if (field.number == 3) {
      hold(std::in_place_type<WatchProgress>);
      ok = IsMessage(field.bytes);
    }
  }
  return ok && reader.ok();
}

bool IsEmptyOp(const kv::Op& op) {
  const auto* range = std::get_if<kv::RangeRequest>(&op.request);
  return range != nullptr && range->key.empty() && !range->with_count;
}

}  // namespace kvist::etcdv3
