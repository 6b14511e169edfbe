// What etcd refuses before it looks at its data: shape, sizes and duplicate keys of a request. The order
// of the checks is part of the contract, since the first that fails decides what the client reads.

#ifndef KVIST_ETCDV3_VALIDATE_H_
#define KVIST_ETCDV3_VALIDATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kv/types.h"

namespace kvist::etcdv3 {

// All return INVALID_ARGUMENT with etcd's text, or UNIMPLEMENTED where said.
absl::Status CheckRange(const kv::RangeRequest& request);

// As CheckRange; UNIMPLEMENTED for an order other than by key and for revision bounds.
absl::Status CheckRangeStream(const kv::RangeRequest& request);

absl::Status CheckPut(const kv::PutRequest& request);
absl::Status CheckDeleteRange(const kv::DeleteRangeRequest& request);

// Checks a Txn and all those nested in it, both branches of each: first the shape of everything in
// order, then duplicate keys.
//
// `ops_max` bounds the longest of a Txn's three lists. A nested Txn has what the length of its parent's
// longest list leaves of the parent's bound.
absl::Status CheckTxn(const kv::TxnRequest& request, std::int64_t ops_max);

// Whether a write is too large to be taken. etcd measures the entry of its log: the request within an
// envelope of an id and a field, which take a few bytes more.
absl::Status CheckWriteSize(std::size_t request_bytes, std::size_t request_bytes_max);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_VALIDATE_H_
