// The batch in flight: executes writes one after the other against the newest state, and makes all of them
// durable with one commit, or undoes them.

#ifndef KVIST_KV_BATCH_H_
#define KVIST_KV_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "kv/actor_table.h"
#include "kv/engine.h"
#include "kv/range_reader.h"
#include "kv/revision_log.h"
#include "kv/shared_index.h"

namespace kvist::kv {

// Used by the holder of the baton alone, in the order Begin, Execute..., Commit, TakeCommitted, End.
class Batch {
 public:
  // All borrowed.
  Batch(RevisionLog* log, SharedIndex* index, ActorTable* actors);

  void Begin();

  // Executes one write: sets its status and result. A write that fails leaves no trace in the batch.
  void Execute(Write* write);

  // Makes everything executed durable, then visible. On error nothing of it was written and the index is as
  // it was before Begin.
  absl::Status Commit();

  // After Commit: what was written, for the listener. Its records are empty if nothing was.
  CommittedBatch TakeCommitted();

  // Whether Commit raised the compacted revision.
  [[nodiscard]] bool compacted() const { return compact_revision_.has_value(); }

  void End();

 private:
  friend class TxnExecutor;

  // A record not yet in the log.
  struct Pending {  // one for each of changes_
    RevisionKey revision;
    std::size_t offset;  // of the record in the arena
    std::size_t bytes;
  };

  absl::Status ExecuteRequest(const PutRequest& put, Write::Result* result);
  absl::Status ExecuteRequest(const DeleteRangeRequest& request, Write::Result* result);
  absl::Status ExecuteRequest(const TxnRequest& txn, Write::Result* result);
  absl::Status ExecuteRequest(const CompactRequest& compact, Write::Result* result);

  // What a Put needs of the state before its request. NOT_FOUND, INVALID_ARGUMENT.
  absl::Status CheckPut(const PutRequest& put) const;
  // The operations themselves, which rarely fail: DATA_LOSS, and what CheckPut says if the request itself has
  // deleted the key. Each changes the newest state at once.
  absl::Status Put(const PutRequest& put, PutResult* result);
  absl::Status DeleteRange(const DeleteRangeRequest& request, DeleteRangeResult* result);
  absl::Status Range(const RangeRequest& request, RangeResult* result);

  [[nodiscard]] KeyEntry* Find(std::string_view key) const;
  [[nodiscard]] std::vector<KeyEntry*> AliveIn(const KeyRange& range) const;
  void Append(std::string_view key, KeyEntry* entry, const KeyState& state, std::string_view value);
  void Delete(KeyEntry* entry);
  // The bytes of mvccpb.KeyValue. Views end with the next operation or with the batch.
  std::optional<std::string_view> FindRecord(RevisionKey revision);
  absl::Status AppendToLog(RevisionLog::Batch* log_batch) const;
  void Publish();
  // Takes back all but the first `changes` modifications of the batch.
  void UndoBeyond(std::size_t changes);

  [[nodiscard]] Revision CompactedRevision() const {
    return compact_revision_.value_or(index_->compacted.load(std::memory_order_relaxed));
  }
  // The place of the next modification: of the request being executed.
  [[nodiscard]] RevisionKey NextRevision() const { return {last_revision_ + 1, next_sub_}; }
  // What a result shows as revision: that of the request once it has changed something.
  [[nodiscard]] Revision ShownRevision() const { return last_revision_ + (next_sub_ > 0 ? 1 : 0); }

  RevisionLog* const log_;
  SharedIndex* const index_;
  ActorTable* const actors_;

  Revision last_revision_ = 1;  // of the requests executed so far
  std::uint32_t next_sub_ = 0;
  std::uint32_t actor_ = 0;
  std::int64_t commit_unix_nanos_ = 0;  // never less than in the batch before
  std::optional<Revision> compact_revision_;
  std::shared_ptr<std::string> arena_;  // the records, shared with those who watch
  std::vector<Pending> pending_;
  std::vector<KeyIndex::Change> changes_;
  RevisionLog::Snapshot snapshot_;  // taken when first needed
};

}  // namespace kvist::kv

#endif  // KVIST_KV_BATCH_H_
