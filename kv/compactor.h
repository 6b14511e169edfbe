// Compaction in the background: forgets what no reader at the compacted revision or later can see.
//
// By the time it runs, the compacted revision is durable and older reads are refused. First the index forgets
// old versions, some entries at a time; then their records are removed from the log, in order of revision,
// some at a time, each time as one commit between two batches of writes. A stop or crash in between loses
// nothing: at open the index is read from the log again, and compaction starts over.

#ifndef KVIST_KV_COMPACTOR_H_
#define KVIST_KV_COMPACTOR_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "kv/key_entry.h"
#include "kv/pins.h"
#include "kv/revision_log.h"
#include "kv/shared_index.h"
#include "kv/write_queue.h"

namespace kvist::kv {

// Threads: every method may be called from any thread.
class Compactor {
 public:
  // All borrowed. `done` is the revision that compaction has finished for.
  Compactor(RevisionLog* log, SharedIndex* index, WriteQueue* queue, Pins* pins, Revision done);
  ~Compactor();

  // Called with true when nothing compacted is left in the log, with false if the compactor stops before.
  using WhenDone = std::function<void(bool finished)>;

  // Compacts up to `revision`, later. `when_done` may be null.
  void Schedule(Revision revision, WhenDone when_done);

  // Ends the thread; what is not finished is taken up at the next open. REQUIRES: the queue is stopped.
  void Stop();

 private:
  struct Waiter {
    Revision revision;
    WhenDone when_done;
  };

  void Run();
  // False if it was stopped before the end.
  bool Compact(Revision revision);
  bool CompactIndex(Revision revision, std::vector<RevisionKey>* removed);
  bool CompactLog(Revision revision, const std::vector<RevisionKey>& removed);
  // Removes some of `removed` from `*next` on, advances `*next`, and notes the end when it is reached.
  absl::Status RemoveSome(Revision revision, const std::vector<RevisionKey>& removed, std::size_t* next);
  // Those who wait for `revision` or an earlier one.
  void CallWaiters(Revision revision, bool finished);
  // False if stopped meanwhile.
  bool SleepFor(std::chrono::milliseconds time);

  RevisionLog* const log_;
  SharedIndex* const index_;
  WriteQueue* const queue_;
  Pins* const pins_;

  Mutex mu_;
  CondVar changed_;
  Revision target_ GUARDED_BY(mu_);
  Revision done_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::vector<Waiter> waiters_ GUARDED_BY(mu_);

  std::thread thread_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_COMPACTOR_H_
