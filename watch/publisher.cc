// The publisher's lock, its catch-up thread, and its streams.
//
// One lock guards everything: what is done under it for a delivery takes some ten nanoseconds, against the
// microseconds of writing one to a socket. Lock order: this one, then those of the engine's reads. Sinks
// are told with none held, and a stream does not go before each notice due to its sink has been given.

#include "watch/publisher.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "watch/catch_up.h"
#include "watch/dispatcher.h"

namespace kvist::watch {
namespace {

// How long catch-up rests after the store has failed to read.
constexpr std::chrono::milliseconds kRestAfterFailure{100};

class PublisherImpl final : public Publisher {
 public:
  explicit PublisherImpl(kv::Engine* engine);
  ~PublisherImpl() override;

  void OnCommit(const kv::CommittedBatch& batch) override;
  std::unique_ptr<WatchStream> NewStream(StreamSink* sink) override;
  [[nodiscard]] PublisherCounters Counters() const override;

  // Runs `action(Dispatcher*, ReadyList*)` under the lock, then wakes and tells whom it concerns.
  template <typename Action>
  void Run(Action action) {
    ReadyList ready;
    {
      MutexLock lock(&mu_);
      action(&dispatcher_, &ready);
      if (dispatcher_.HasWaiting()) wake_.Signal();
    }
    if (!ready.empty()) Tell(ready);
  }

  // Ends the watches of a stream and returns when its sink has been told all it is to be told.
  void Close(StreamState* stream);

 private:
  void Tell(const ReadyList& ready);
  void CatchUp();
  bool AwaitWaiting();
  void Rest();

  kv::Engine* const engine_;

  mutable Mutex mu_;
  CondVar wake_;  // of the catch-up thread: somebody is waiting, or stopping_
  Dispatcher dispatcher_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  CondVar told_;  // of who closes a stream
  int closing_ GUARDED_BY(mu_) = 0;

  std::thread catch_up_;
};

class StreamImpl final : public WatchStream {
 public:
  StreamImpl(PublisherImpl* publisher, StreamSink* sink) : publisher_(publisher), state_(sink) {
    publisher_->Run([](Dispatcher* dispatcher, ReadyList*) { dispatcher->OpenStream(); });
  }
  ~StreamImpl() override { publisher_->Close(&state_); }

  void Create(const WatchRequest& request) override {
    publisher_->Run(
        [&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->Create(&state_, request, ready); });
  }

  void RefuseCreate(std::string reason) override {
    publisher_->Run([&](Dispatcher* dispatcher, ReadyList* ready) {
      dispatcher->RefuseCreate(&state_, std::move(reason), ready);
    });
  }

  void Cancel(WatchId id) override {
    publisher_->Run(
        [&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->Cancel(&state_, id, ready); });
  }

  void RequestProgress() override {
    publisher_->Run(
        [&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->RequestProgress(&state_, ready); });
  }

  void Tick() override {
    publisher_->Run([&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->Tick(&state_, ready); });
  }

  bool Take(std::size_t max, std::vector<Delivery>* out) override {
    bool more = false;
    publisher_->Run([&](Dispatcher* dispatcher, ReadyList*) { more = dispatcher->Take(&state_, max, out); });
    return more;
  }

  [[nodiscard]] bool Full() const override {
    bool full = false;
    publisher_->Run([&](Dispatcher*, ReadyList*) { full = state_.queue.Full(); });
    return full;
  }

 private:
  PublisherImpl* const publisher_;
  StreamState state_;  // guarded by the publisher's lock: used in Run and Close only
};

PublisherImpl::PublisherImpl(kv::Engine* engine) : engine_(engine), dispatcher_(engine) {
  // In this order nothing is missed: what is committed from here on is told, and what was is current.
  engine_->SetCommitListener(this);
  {
    MutexLock lock(&mu_);
    dispatcher_.StartAt(engine_->CurrentRevision());
  }
  catch_up_ = std::thread([this] { CatchUp(); });
}

PublisherImpl::~PublisherImpl() {
  engine_->SetCommitListener(nullptr);
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    wake_.Signal();
  }
  catch_up_.join();
}

void PublisherImpl::Tell(const ReadyList& ready) {
  for (StreamState* stream : ready) stream->sink->OnReady();
  MutexLock lock(&mu_);
  for (StreamState* stream : ready) --stream->notices_due;
  if (closing_ > 0) told_.SignalAll();
}

void PublisherImpl::Close(StreamState* stream) {
  MutexLock lock(&mu_);
  dispatcher_.CloseStream(stream);
  ++closing_;
  while (stream->notices_due > 0) told_.Wait(&mu_);
  --closing_;
}

void PublisherImpl::OnCommit(const kv::CommittedBatch& batch) {
  Run([&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->Publish(batch, ready); });
}

std::unique_ptr<WatchStream> PublisherImpl::NewStream(StreamSink* sink) {
  return std::make_unique<StreamImpl>(this, sink);
}

PublisherCounters PublisherImpl::Counters() const {
  MutexLock lock(&mu_);
  return dispatcher_.counters();
}

void PublisherImpl::CatchUp() {
  CatchUpRound round(engine_);
  while (AwaitWaiting()) {
    Run([&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->BeginRound(&round, ready); });
    round.Read();
    Run([&](Dispatcher* dispatcher, ReadyList* ready) { dispatcher->EndRound(&round, ready); });
    if (round.failed()) Rest();
    round.Clear();
  }
}

// Returns false when it is time to stop.
bool PublisherImpl::AwaitWaiting() {
  MutexLock lock(&mu_);
  while (!stopping_ && !dispatcher_.HasWaiting()) wake_.Wait(&mu_);
  return !stopping_;
}

void PublisherImpl::Rest() {
  const auto end = std::chrono::steady_clock::now() + kRestAfterFailure;
  MutexLock lock(&mu_);
  while (!stopping_) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    wake_.WaitFor(&mu_, left);
  }
}

}  // namespace

std::unique_ptr<Publisher> Publisher::Create(kv::Engine* engine) {
  return std::make_unique<PublisherImpl>(engine);
}

}  // namespace kvist::watch
