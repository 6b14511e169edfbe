// The one interface that the rooms above build on: read, write, read the log, be told of commits.
// The LMDB store (kv/store.h) is its first implementation. Nothing here needs more than etcd's semantics.

#ifndef KVIST_KV_ENGINE_H_
#define KVIST_KV_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kv/types.h"

namespace kvist::kv {

// Everything that one flush made durable, in revision order.
struct CommittedBatch {
  // Keeps the views of `records` alive: share it to keep them longer than the call.
  std::shared_ptr<const void> owner;
  std::vector<LogRecord> records;  // never empty
};

// Told of commits, e.g. the watch publisher.
class CommitListener {
 public:
  virtual ~CommitListener() = default;
  // Called once for each batch, in revision order, after the batch is durable and visible to readers and
  // before its writers are answered. Runs on the thread that led the batch, which holds none of the
  // engine's locks but does hold up the next batch: be short. The engine may be read from here.
  virtual void OnCommit(const CommittedBatch& batch) = 0;
};

// One write on its way through the engine. Owned by whoever submits it, alive until Done returns.
class Write {
 public:
  using Request = std::variant<PutRequest, DeleteRangeRequest, TxnRequest, CompactRequest>;
  using Result = std::variant<PutResult, DeleteRangeResult, TxnResult, CompactResult>;

  virtual ~Write() = default;

  // Called once, when the write is durable and visible or has failed. Runs on the thread that led the
  // batch, with no lock held; must not block. May destroy the Write.
  virtual void Done() = 0;

  Request request;
  // Who writes: user, certificate or peer name, kept with the record. Borrowed until Done.
  std::string_view actor;

  // Valid in Done: `result` holds the alternative of `request` if `status` is ok.
  absl::Status status;
  Result result;
};

// Who may do the work of a batch.
enum class Lead {
  kWriterThread,  // the caller must not wait for a flush
  kCaller,        // the caller leads at once if nobody else does, and so pays no hand-over
};

// Errors, the same for every call (kv/errors.h makes and tells them; texts are etcd's without the
// "etcdserver: " that the transport puts in front):
//   OUT_OF_RANGE         revision compacted, or in the future
//   NOT_FOUND            a Put names a lease that does not exist
//   INVALID_ARGUMENT     ignore_value or ignore_lease on a key that is not there
//   RESOURCE_EXHAUSTED   no space left for a write; it left no trace
//   UNAVAILABLE          the store is closing, or its storage failed; a write left no trace
// Requests are trusted to be well formed: that keys are not empty and a Txn has no duplicate keys is
// checked by the transport.
//
// Threads: every method may be called from any thread at any time.
class Engine {
 public:
  virtual ~Engine() = default;

  // The newest committed revision.
  [[nodiscard]] virtual Revision CurrentRevision() const = 0;

  // Revisions below this one cannot be read; kNeverCompacted at first.
  [[nodiscard]] virtual Revision CompactedRevision() const = 0;

  // Reads a range. Appends to result->kvs and sets the rest. On error `*result` is unspecified.
  virtual absl::Status Range(const RangeRequest& request, RangeResult* result) = 0;

  // Runs a Txn for which IsReadOnly holds, at one revision, without waiting for writers.
  virtual absl::Status ReadOnlyTxn(const TxnRequest& request, TxnResult* result) = 0;

  // Queues a write; its Done is called later, or before Submit returns when the caller leads.
  // Writes submitted by one thread, one after the other, are executed in that order.
  virtual void Submit(Write* write, Lead lead) = 0;

  // Reads records of the log in order, from `from` to the newest committed one, until `visit` returns
  // false. The views of a record end with the call of `visit`. OUT_OF_RANGE if `from` is compacted or
  // becomes so before the first record is read; a `from` in the future reads nothing.
  virtual absl::Status ReadLog(Revision from, absl::FunctionRef<bool(const LogRecord&)> visit) = 0;

  // The name behind LogRecord::actor; empty for 0 and for numbers never given out.
  [[nodiscard]] virtual std::string ActorName(std::uint32_t actor) const = 0;

  // `listener` is told of every commit after this call returns, until it is replaced; nullptr for none.
  // Waits for a batch in flight. Not to be called from OnCommit or Done.
  virtual void SetCommitListener(CommitListener* listener) = 0;

  // Blocking writes for callers that may wait. Not to be called from OnCommit or Done.
  absl::StatusOr<PutResult> Put(const PutRequest& request, std::string_view actor = {});
  absl::StatusOr<DeleteRangeResult> DeleteRange(const DeleteRangeRequest& request,
                                                std::string_view actor = {});
  absl::StatusOr<TxnResult> Txn(const TxnRequest& request, std::string_view actor = {});
  absl::StatusOr<CompactResult> Compact(const CompactRequest& request);
};

// Whether a Txn consists of Range operations alone, on both branches, with none nested: it then changes
// nothing and reads its own snapshot.
[[nodiscard]] bool IsReadOnly(const TxnRequest& request);

}  // namespace kvist::kv

#endif  // KVIST_KV_ENGINE_H_
