// How the store works together.
//
// A write: WriteQueue hands everything queued to RunBatch on one thread, the holder of the baton. Batch
// executes, commits once, and only then makes it visible; the listener is told, then the writers.
//
// A read: with the index locked (shared), take the committed revision, a snapshot of the log, and as much of
// the range as one lock may cover; unlock; fetch the records. The order matters: what the index names at that
// moment is in that snapshot, because a record is in the log before it is visible in the index, and is
// removed from the log after the index has forgotten it. A range that needs the lock again pins its revision
// meanwhile, so that compaction leaves it what it sees.
//
// Lock order: the baton, then SharedIndex::mu, then any other mutex of this room, which are leaves.

#ifndef KVIST_KV_STORE_IMPL_H_
#define KVIST_KV_STORE_IMPL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kv/actor_table.h"
#include "kv/batch.h"
#include "kv/compactor.h"
#include "kv/pins.h"
#include "kv/range_reader.h"
#include "kv/revision_log.h"
#include "kv/shared_index.h"
#include "kv/store.h"
#include "kv/write_queue.h"

namespace kvist::kv {

class StoreImpl final : public Store {
 public:
  // Reads the history from `log`. DATA_LOSS or a storage error.
  static absl::StatusOr<std::unique_ptr<StoreImpl>> Load(std::unique_ptr<RevisionLog> log);
  ~StoreImpl() override;

  [[nodiscard]] Revision CurrentRevision() const override {
    return index_.committed.load(std::memory_order_acquire);
  }
  [[nodiscard]] Revision CompactedRevision() const override {
    return index_.compacted.load(std::memory_order_acquire);
  }
  absl::Status Range(const RangeRequest& request, RangeResult* result) override;
  absl::Status ReadOnlyTxn(const TxnRequest& request, TxnResult* result) override;
  void Submit(Write* write, Lead lead) override { queue_->Submit(write, lead); }
  absl::Status ReadLog(Revision from, absl::FunctionRef<bool(const LogRecord&)> visit) override;
  [[nodiscard]] std::string ActorName(std::uint32_t actor) const override { return actors_.Name(actor); }
  void SetCommitListener(CommitListener* listener) override;
  absl::StatusOr<StoreStats> Stats() override;
  [[nodiscard]] std::int64_t OpenCount() const override { return open_count_; }

 private:
  explicit StoreImpl(std::unique_ptr<RevisionLog> log);

  absl::Status LoadState();
  absl::Status LoadIndex();
  absl::Status CountOpen();
  void StartThreads(Revision compaction_done);

  void RunBatch(const std::vector<Write*>& writes);
  void Answer(Write* write, const absl::Status& committed);

  // Collects what the first lock did not cover, if anything.
  void CollectRest(RangeReader* reader);

  const std::unique_ptr<RevisionLog> log_;
  std::int64_t open_count_ = 0;

  SharedIndex index_;
  Pins pins_;
  ActorTable actors_;

  Batch batch_;                         // used by the holder of the baton alone
  CommitListener* listener_ = nullptr;  // likewise

  // Last, as their threads use the rest.
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<Compactor> compactor_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_STORE_IMPL_H_
