// For tests of this room: an engine that is a log in memory, a client that takes what its stream has, and
// deliveries as readable text.

#ifndef KVIST_WATCH_TEST_SUPPORT_H_
#define KVIST_WATCH_TEST_SUPPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kv/engine.h"
#include "watch/publisher.h"

namespace kvist::watch {

// Long enough for anything that will happen at all.
inline constexpr std::chrono::seconds kPatience{20};

// One change of a key, for FakeEngine::Commit.
struct Change {
  std::string key;
  std::string value;
  bool is_delete = false;
};
inline Change PutOf(std::string key, std::string value) { return {std::move(key), std::move(value), false}; }
inline Change DeleteOf(std::string key) { return {std::move(key), {}, true}; }

// Keeps every record for ever: compaction only forbids to read them. Commits are made by one thread at a
// time; everything else may be called from any.
class FakeEngine final : public kv::Engine {
 public:
  // Commits `changes` in one revision and publishes it. A deletion needs a key that is there.
  kv::Revision Commit(const std::vector<Change>& changes) {
    Append(changes);
    Publish();
    return CurrentRevision();
  }
  kv::Revision Put(std::string key, std::string value) {
    return Commit({PutOf(std::move(key), std::move(value))});
  }
  kv::Revision Delete(std::string key) { return Commit({DeleteOf(std::move(key))}); }

  // The two halves of a commit: it is visible after the first and published by the second, which makes
  // one batch of all that has been appended.
  void Append(const std::vector<Change>& changes);
  void Publish();

  void SetCompacted(kv::Revision revision) {
    MutexLock lock(&mu_);
    compacted_ = revision;
  }

  // While not ok, Range and ReadLog return it.
  void FailReads(absl::Status status) {
    MutexLock lock(&mu_);
    read_status_ = std::move(status);
  }
  // Called by ReadLog after its last record, with no lock held.
  void AfterReadLog(std::function<void()> hook) {
    MutexLock lock(&mu_);
    after_read_log_ = std::move(hook);
  }
  [[nodiscard]] int read_log_calls() const {
    MutexLock lock(&mu_);
    return read_log_calls_;
  }

  [[nodiscard]] kv::Revision CurrentRevision() const override;
  [[nodiscard]] kv::Revision CompactedRevision() const override;
  absl::Status Range(const kv::RangeRequest& request, kv::RangeResult* result) override;
  absl::Status ReadLog(kv::Revision from, absl::FunctionRef<bool(const kv::LogRecord&)> visit) override;
  void SetCommitListener(kv::CommitListener* listener) override;

  // Of no use to a publisher.
  absl::Status ReadOnlyTxn(const kv::TxnRequest& request, kv::TxnResult* result) override;
  void Submit(kv::Write* write, kv::Lead lead) override;
  [[nodiscard]] std::string ActorName(std::uint32_t actor) const override;

 private:
  struct Record {
    std::string key;
    std::string key_value;
    kv::Revision revision = 0;
    std::uint32_t sub_revision = 0;
    bool tombstone = false;

    [[nodiscard]] kv::LogRecord View() const;
  };
  using RecordPtr = std::shared_ptr<const Record>;

  [[nodiscard]] RecordPtr Newest(std::string_view key, kv::Revision at) const REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<RecordPtr> log_ GUARDED_BY(mu_);
  std::size_t published_ GUARDED_BY(mu_) = 0;  // records
  kv::Revision current_ GUARDED_BY(mu_) = 1;
  kv::Revision compacted_ GUARDED_BY(mu_) = kv::kNeverCompacted;
  absl::Status read_status_ GUARDED_BY(mu_);
  std::function<void()> after_read_log_ GUARDED_BY(mu_);
  int read_log_calls_ GUARDED_BY(mu_) = 0;

  Mutex listener_mu_;  // held while the listener is told; before mu_
  kv::CommitListener* listener_ GUARDED_BY(listener_mu_) = nullptr;
};

// One event as text: "put k=v create=C mod=M", "delete k mod=M", either with " prev=v" if it has one.
std::vector<std::string> EventTexts(const EventBlock& block);

// A delivery as text: "created 0 @5", "refused @5: reason", "events 0 @5: E, E", "progress -1 @5",
// "canceled 0 @5", "compacted 0 at 7"; @ is the revision of the header.
std::string Text(const Delivery& delivery);

// A stream and its reader.
class Client final : public StreamSink {
 public:
  explicit Client(Publisher* publisher) : stream_(publisher->NewStream(this)) {}

  WatchStream* operator->() { return stream_.get(); }
  void Close() { stream_.reset(); }

  // Takes and returns all that is queued now.
  std::vector<Delivery> TakeAll() {
    std::vector<Delivery> taken;
    while (stream_->Take(64, &taken)) continue;
    return taken;
  }
  std::vector<std::string> TakeTexts();

  // Takes until there are `count` deliveries or patience ends, and then what else is queued.
  std::vector<Delivery> Await(std::size_t count);
  std::vector<std::string> AwaitTexts(std::size_t count);

  // Waits until the sink has been called since the last Take that emptied the queue.
  bool AwaitReady();

  void OnReady() override {
    MutexLock lock(&mu_);
    ++ready_calls_;
    ready_ = true;
    changed_.SignalAll();
  }
  [[nodiscard]] int ready_calls() const {
    MutexLock lock(&mu_);
    return ready_calls_;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  bool ready_ GUARDED_BY(mu_) = false;
  int ready_calls_ GUARDED_BY(mu_) = 0;

  std::unique_ptr<WatchStream> stream_;
};

// Polls `condition` until it holds or patience ends; returns whether it holds.
bool Eventually(const std::function<bool()>& condition);

}  // namespace kvist::watch

#endif  // KVIST_WATCH_TEST_SUPPORT_H_
