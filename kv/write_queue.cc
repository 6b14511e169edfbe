#include "kv/write_queue.h"

#include <utility>

#include "kv/errors.h"

namespace kvist::kv {

WriteQueue::WriteQueue(RunBatch run_batch)
    : run_batch_(std::move(run_batch)), writer_thread_([this] { WriterThread(); }) {}

WriteQueue::~WriteQueue() { Stop(); }

void WriteQueue::Submit(Write* write, Lead lead) {
  bool stopped = false;
  bool leads = false;
  {
    MutexLock lock(&mu_);
    stopped = stopping_;
    if (!stopped) {
      queue_.push_back(write);
      leads = lead == Lead::kCaller && BatchMayStart();
      if (leads) {
        baton_taken_ = true;
      } else if (BatchMayStart()) {
        batch_may_start_.Signal();
      }
    }
  }
  if (stopped) {
    write->status = StoppedError();
    write->Done();
  } else if (leads) {
    RunQueued();
  }
}

void WriteQueue::RunQueued() {
  {
    MutexLock lock(&mu_);
    batch_.swap(queue_);
  }
  run_batch_(batch_);
  batch_.clear();
  MutexLock lock(&mu_);
  batch_was_last_ = true;
  ReleaseBaton();
}

void WriteQueue::ReleaseBaton() {
  baton_taken_ = false;
  if (BatchMayStart()) batch_may_start_.Signal();
  if (alone_waiting_ > 0 || stopping_) baton_free_.SignalAll();
}

void WriteQueue::WriterThread() {
  while (true) {
    {
      MutexLock lock(&mu_);
      while (!stopping_ && !BatchMayStart()) batch_may_start_.Wait(&mu_);
      if (stopping_) return;
      baton_taken_ = true;
    }
    RunQueued();
  }
}

bool WriteQueue::RunAlone(absl::FunctionRef<void()> work) {
  {
    MutexLock lock(&mu_);
    ++alone_waiting_;
    while (baton_taken_ || (!batch_was_last_ && !queue_.empty() && !stopping_)) baton_free_.Wait(&mu_);
    --alone_waiting_;
    if (stopping_) return false;
    baton_taken_ = true;
  }
  work();
  MutexLock lock(&mu_);
  batch_was_last_ = false;
  ReleaseBaton();
  return true;
}

void WriteQueue::Stop() {
  std::vector<Write*> queued;
  {
    MutexLock lock(&mu_);
    if (stopping_) return;
    stopping_ = true;
    batch_may_start_.SignalAll();
    baton_free_.SignalAll();
    while (baton_taken_) baton_free_.Wait(&mu_);
    queued.swap(queue_);
  }
  writer_thread_.join();
  for (Write* write : queued) {
    write->status = StoppedError();
    write->Done();
  }
}

}  // namespace kvist::kv
