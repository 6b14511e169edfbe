// kv/: the MVCC store. It must not know gRPC, HTTP, schemas or configuration.
//
// This file holds the words of the store: requests, results and what is told to listeners. They are
// plain values. A `std::string_view` in a request is borrowed from the caller until the call returns or,
// for a Write, until its Done.
//
// Ranges follow etcd's convention everywhere: `range_end` empty means exactly `key`; one zero byte means
// every key >= `key`; otherwise the half-open interval [key, range_end), which may be empty.
//
// Key-values travel as the wire bytes of mvccpb.KeyValue, as they lie in the log (see kv/key_value.h to
// read them), so that a reply is made by copying.

#ifndef KVIST_KV_TYPES_H_
#define KVIST_KV_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvist::kv {

// A main revision: the number of a committed request that changed something. A new store is at 1.
using Revision = std::int64_t;
using LeaseId = std::int64_t;

// What the compacted revision is before the first compaction.
inline constexpr Revision kNeverCompacted = -1;

enum class SortOrder { kNone = 0, kAscend = 1, kDescend = 2 };
enum class SortTarget { kKey = 0, kVersion = 1, kCreate = 2, kMod = 3, kValue = 4 };

struct RangeRequest {
  std::string_view key = {};
  std::string_view range_end = {};
  std::int64_t limit = 0;  // <= 0: no limit
  Revision revision = 0;   // 0, or negative outside a Txn: the current one
  SortOrder sort_order = SortOrder::kNone;
  SortTarget sort_target = SortTarget::kKey;
  bool keys_only = false;
  bool count_only = false;
  // False spares the count, which costs a walk at an old revision; RangeResult::count is then 0.
  bool with_count = true;
  // Bounds, each ignored when 0.
  Revision min_mod_revision = 0;
  Revision max_mod_revision = 0;
  Revision min_create_revision = 0;
  Revision max_create_revision = 0;
};

struct RangeResult {
  Revision revision = 0;   // the store's current revision when the read ran, not the one asked for
  std::int64_t count = 0;  // keys in the range, whatever `limit` and the bounds leave of them
  bool more = false;
  // The pairs, each as field 2 of a message: tag, length, mvccpb.KeyValue. Range appends here.
  std::string kvs;
};

struct PutRequest {
  std::string_view key = {};
  std::string_view value = {};
  LeaseId lease = 0;
  bool prev_kv = false;
  bool ignore_value = false;  // keep the value the key has; `value` must be empty
  bool ignore_lease = false;  // keep the lease the key has; `lease` must be 0
};

struct PutResult {
  Revision revision = 0;
  bool has_prev_kv = false;
  std::string prev_kv;  // one mvccpb.KeyValue, without tag and length
};

struct DeleteRangeRequest {
  std::string_view key = {};
  std::string_view range_end = {};
  bool prev_kv = false;
};

struct DeleteRangeResult {
  Revision revision = 0;  // the new one, or the current one if nothing was deleted
  std::int64_t deleted = 0;
  std::string prev_kvs;  // each as field 3 of a message: tag, length, mvccpb.KeyValue
};

// Values that no operator or target has are legal, as in etcd: an unknown operator holds always, an
// unknown target compares as equal.
enum class CompareResult { kEqual = 0, kGreater = 1, kLess = 2, kNotEqual = 3 };
enum class CompareTarget { kVersion = 0, kCreate = 1, kMod = 2, kValue = 3, kLease = 4 };

struct Compare {
  CompareResult result = CompareResult::kEqual;
  CompareTarget target = CompareTarget::kVersion;
  std::string_view key = {};
  std::string_view range_end = {};
  std::int64_t number = 0;      // what version, revision or lease is compared with
  std::string_view value = {};  // what a value is compared with
};

struct Op;

struct TxnRequest {
  std::vector<Compare> compare;
  std::vector<Op> success;
  std::vector<Op> failure;
};

struct Op {
  std::variant<RangeRequest, PutRequest, DeleteRangeRequest, TxnRequest> request;
};

struct OpResult;

struct TxnResult {
  Revision revision = 0;  // 0 in a nested Txn, as etcd leaves that header empty
  bool succeeded = false;
  std::vector<OpResult> responses;
};

struct OpResult {
  std::variant<RangeResult, PutResult, DeleteRangeResult, TxnResult> result;
};

struct CompactRequest {
  Revision revision = 0;
  // True: the write is done only when the space of what was compacted is free for reuse.
  bool physical = false;
};

struct CompactResult {
  Revision revision = 0;  // the current one
};

// One modification of one key, as the log has it.
struct LogRecord {
  Revision revision = 0;
  std::uint32_t sub_revision = 0;  // its place among the modifications of this revision
  bool tombstone = false;          // a deletion: `key_value` then has only key and mod_revision
  std::int64_t commit_unix_nanos = 0;
  std::uint32_t actor = 0;     // see Engine::ActorName
  std::string_view key = {};   // views into the record
  std::string_view key_value;  // wire bytes of mvccpb.KeyValue
};

}  // namespace kvist::kv

#endif  // KVIST_KV_TYPES_H_
