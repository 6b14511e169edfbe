#include "kv/compactor.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace kvist::kv {
namespace {

// How much is done between two batches of writes: a few milliseconds at most.
constexpr int kIndexEntriesMax = 1000;
constexpr std::size_t kRemovalsMax = 1000;
constexpr std::chrono::milliseconds kRemovalTimeMax{2};

// How long to wait after the storage failed, e.g. because the disk is full.
constexpr std::chrono::milliseconds kRetryPause{1000};

}  // namespace

Compactor::Compactor(RevisionLog* log, SharedIndex* index, WriteQueue* queue, Pins* pins, Revision done)
    : log_(log), index_(index), queue_(queue), pins_(pins), target_(done), done_(done), thread_([this] {
        Run();
      }) {}

Compactor::~Compactor() { Stop(); }

void Compactor::Schedule(Revision revision, WhenDone when_done) {
  MutexLock lock(&mu_);
  target_ = std::max(target_, revision);
  if (when_done) waiters_.push_back({revision, std::move(when_done)});
  changed_.Signal();
}

void Compactor::Stop() {
  {
    MutexLock lock(&mu_);
    if (stopping_) return;
    stopping_ = true;
    changed_.Signal();
  }
  thread_.join();
  CallWaiters(INT64_MAX, false);
}

void Compactor::Run() {
  while (true) {
    Revision target = 0;
    {
      MutexLock lock(&mu_);
      while (!stopping_ && target_ <= done_) changed_.Wait(&mu_);
      if (stopping_) return;
      target = target_;
    }
    if (!Compact(target)) return;
    {
      MutexLock lock(&mu_);
      done_ = target;
    }
    CallWaiters(target, true);
  }
}

void Compactor::CallWaiters(Revision revision, bool finished) {
  std::vector<Waiter> ready;
  {
    MutexLock lock(&mu_);
    const auto pending = std::partition(waiters_.begin(), waiters_.end(),
                                        [&](const Waiter& waiter) { return waiter.revision > revision; });
    std::move(pending, waiters_.end(), std::back_inserter(ready));
    waiters_.erase(pending, waiters_.end());
  }
  for (const Waiter& waiter : ready) waiter.when_done(finished);
}

bool Compactor::Compact(Revision revision) {
  pins_->WaitUntilNoneBelow(revision);
  std::vector<RevisionKey> removed;
  if (!CompactIndex(revision, &removed)) return false;
  std::sort(removed.begin(), removed.end());
  return CompactLog(revision, removed);
}

bool Compactor::CompactIndex(Revision revision, std::vector<RevisionKey>* removed) {
  std::string next;
  bool more = true;
  while (more) {
    const bool ran = queue_->RunAlone([&] {
      WriterLock lock(&index_->mu);
      more = index_->keys.CompactSome(revision, kIndexEntriesMax, &next,
                                      [&](RevisionKey key) { removed->push_back(key); });
    });
    if (!ran) return false;
  }
  return true;
}

bool Compactor::CompactLog(Revision revision, const std::vector<RevisionKey>& removed) {
  std::size_t next = 0;
  bool finished = false;
  while (!finished) {
    absl::Status status;
    if (!queue_->RunAlone([&] { status = RemoveSome(revision, removed, &next); })) return false;
    finished = status.ok() && next == removed.size();
    if (!status.ok() && !SleepFor(kRetryPause)) return false;
  }
  return true;
}

absl::Status Compactor::RemoveSome(Revision revision, const std::vector<RevisionKey>& removed,
                                   std::size_t* next) {
  absl::StatusOr<RevisionLog::Batch> batch = log_->Begin();
  if (!batch.ok()) return batch.status();
  const auto start = std::chrono::steady_clock::now();
  const std::size_t end = std::min(removed.size(), *next + kRemovalsMax);
  std::size_t position = *next;
  for (; position < end && std::chrono::steady_clock::now() - start < kRemovalTimeMax; ++position) {
    if (absl::Status status = batch->Remove(removed[position]); !status.ok()) return status;
  }
  if (position == removed.size()) {
    if (absl::Status status = batch->PutNumber(kCompactionDoneState, revision); !status.ok()) return status;
  }
  if (absl::Status status = batch->Commit(); !status.ok()) return status;
  *next = position;
  return absl::OkStatus();
}

bool Compactor::SleepFor(std::chrono::milliseconds time) {
  MutexLock lock(&mu_);
  if (!stopping_) changed_.WaitFor(&mu_, time);
  return !stopping_;
}

}  // namespace kvist::kv
