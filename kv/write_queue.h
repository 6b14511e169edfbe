// Who may write: one at a time, by holding the baton.
//
// Writes queue up while a batch is under way, and whoever takes the baton next takes all of them: that is
// the group commit. The leader is the writer thread, or a caller that may wait and finds the baton free.

#ifndef KVIST_KV_WRITE_QUEUE_H_
#define KVIST_KV_WRITE_QUEUE_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"
#include "kv/engine.h"

namespace kvist::kv {

// Threads: every method may be called from any thread, Stop once.
class WriteQueue {
 public:
  // Executes the writes in order and calls Done of each. Runs with the baton held.
  using RunBatch = std::function<void(const std::vector<Write*>&)>;

  explicit WriteQueue(RunBatch run_batch);
  ~WriteQueue();

  // As Engine::Submit. After Stop the write fails at once.
  void Submit(Write* write, Lead lead);

  // Runs `work` with the baton held, and lets batches go between two such calls. Returns when it is done;
  // false if the queue was stopped before.
  bool RunAlone(absl::FunctionRef<void()> work);

  // Finishes the batch under way and fails what is queued.
  void Stop();

 private:
  void WriterThread();
  void RunQueued();  // holds the baton on entry, not on return
  void ReleaseBaton() REQUIRES(mu_);
  [[nodiscard]] bool BatchMayStart() const REQUIRES(mu_) {
    return !baton_taken_ && !queue_.empty() && !(alone_waiting_ > 0 && batch_was_last_);
  }

  const RunBatch run_batch_;
  std::vector<Write*> batch_;  // used by the holder of the baton alone

  Mutex mu_;
  CondVar batch_may_start_;
  CondVar baton_free_;
  std::vector<Write*> queue_ GUARDED_BY(mu_);
  bool baton_taken_ GUARDED_BY(mu_) = false;
  bool batch_was_last_ GUARDED_BY(mu_) = false;  // and not RunAlone: they take turns
  int alone_waiting_ GUARDED_BY(mu_) = 0;
  bool stopping_ GUARDED_BY(mu_) = false;

  std::thread writer_thread_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_WRITE_QUEUE_H_
