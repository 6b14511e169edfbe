// See validate.h. The search for duplicate keys is in duplicate_keys.cc.

#include "etcdv3/validate.h"

#include <algorithm>

#include "etcdv3/convert.h"
#include "etcdv3/duplicate_keys.h"
#include "etcdv3/errors.h"
#include "etcdv3/wire.h"

namespace kvist::etcdv3 {
namespace {

// etcd's envelope: a header of two length bytes and a two-byte tag that holds a tagged nine-byte id.
constexpr std::size_t kEnvelopeHeaderBytes = 13;

bool Within(int value, int first, int last) { return value >= first && value <= last; }

bool HasRevisionBounds(const kv::RangeRequest& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 || request.min_create_revision != 0 ||
         request.max_create_revision != 0;
}

bool IsKeyOrder(const kv::RangeRequest& request) {
  return request.sort_order == kv::SortOrder::kNone ||
         (request.sort_order == kv::SortOrder::kAscend && request.sort_target == kv::SortTarget::kKey);
}

absl::Status CheckTxnShape(const kv::TxnRequest& request, std::int64_t budget);

absl::Status CheckOp(const kv::Op& op, std::int64_t budget) {
  if (IsEmptyOp(op)) return EmptyOpError();
  if (const auto* range = std::get_if<kv::RangeRequest>(&op.request)) return CheckRange(*range);
  if (const auto* put = std::get_if<kv::PutRequest>(&op.request)) return CheckPut(*put);
  if (const auto* remove = std::get_if<kv::DeleteRangeRequest>(&op.request)) return CheckDeleteRange(*remove);
  return CheckTxnShape(std::get<kv::TxnRequest>(op.request), budget);
}

absl::Status CheckTxnShape(const kv::TxnRequest& request, std::int64_t budget) {
  const auto longest = static_cast<std::int64_t>(
      std::max({request.compare.size(), request.success.size(), request.failure.size()}));
  if (longest > budget) return TooManyOpsError();
  for (const kv::Compare& compare : request.compare) {
    if (compare.key.empty()) return EmptyKeyError();
  }
  for (const auto* branch : {&request.success, &request.failure}) {
    for (const kv::Op& op : *branch) {
      if (absl::Status status = CheckOp(op, budget - longest); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRange(const kv::RangeRequest& request) {
  if (request.key.empty()) return EmptyKeyError();
  if (!Within(static_cast<int>(request.sort_order), 0, 2)) return InvalidSortOptionError();
  if (!Within(static_cast<int>(request.sort_target), 0, 4)) return InvalidSortOptionError();
  return absl::OkStatus();
}

absl::Status CheckRangeStream(const kv::RangeRequest& request) {
  if (absl::Status status = CheckRange(request); !status.ok()) return status;
  if (!IsKeyOrder(request)) {
    return absl::UnimplementedError("RangeStream does not support custom sort orders");
  }
  if (HasRevisionBounds(request)) {
    return absl::UnimplementedError("RangeStream does not support revision filters");
  }
  return absl::OkStatus();
}

absl::Status CheckPut(const kv::PutRequest& request) {
  if (request.key.empty()) return EmptyKeyError();
  if (request.ignore_value && !request.value.empty()) return ValueProvidedError();
  if (request.ignore_lease && request.lease != 0) return LeaseProvidedError();
  return absl::OkStatus();
}

absl::Status CheckDeleteRange(const kv::DeleteRangeRequest& request) {
  return request.key.empty() ? EmptyKeyError() : absl::OkStatus();
}

absl::Status CheckTxn(const kv::TxnRequest& request, std::int64_t ops_max) {
  if (absl::Status status = CheckTxnShape(request, ops_max); !status.ok()) return status;
  if (HasDuplicateKeys(request.success) || HasDuplicateKeys(request.failure)) return DuplicateKeyError();
  return absl::OkStatus();
}

absl::Status CheckWriteSize(std::size_t request_bytes, std::size_t request_bytes_max) {
  const std::size_t entry_bytes = kEnvelopeHeaderBytes + BytesFieldSize(request_bytes);
  return entry_bytes > request_bytes_max ? RequestTooLargeError() : absl::OkStatus();
}

}  // namespace kvist::etcdv3
