// What the publisher costs, from a commit to the readers of the streams, without store and transport.
//
// The events are real: a store has written them, and their batches are kept and given to the publisher in
// the loop. Each watch has a stream of its own, which is the dearer case.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"
#include "bench/support/suite.h"
#include "kv/engine.h"
#include "watch/publisher.h"

namespace kvist::bench {
namespace {

// Keeps what is committed.
class Recorder final : public kv::CommitListener {
 public:
  void OnCommit(const kv::CommittedBatch& batch) override { batches_.push_back(batch); }
  [[nodiscard]] const std::vector<kv::CommittedBatch>& batches() const { return batches_; }

 private:
  std::vector<kv::CommittedBatch> batches_;
};

// A stream that is read when the benchmark says so.
class Reader final : public watch::StreamSink {
 public:
  explicit Reader(watch::Publisher* publisher) : stream_(publisher->NewStream(this)) {}

  void OnReady() override {}

  [[nodiscard]] watch::WatchStream& stream() { return *stream_; }

  // Takes all there is and returns how many events that was.
  std::size_t TakeEvents() {
    std::size_t events = 0;
    for (bool more = true; more;) {
      more = stream_->Take(kTakeMax, &taken_);
      for (const watch::Delivery& delivery : taken_) {
        if (delivery.events != nullptr) events += delivery.events->count();
      }
      taken_.clear();
    }
    return events;
  }

 private:
  static constexpr std::size_t kTakeMax = 64;

  std::vector<watch::Delivery> taken_;
  std::unique_ptr<watch::WatchStream> stream_;  // last: it calls OnReady
};

// A publisher with watches that are all synced, and batches to publish.
class Scene {
 public:
  Scene() : publisher_(watch::Publisher::Create(&*store_)) {}
  ~Scene() { readers_.clear(); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void AddWatch(std::string_view key, std::string_view range_end) {
    readers_.push_back(std::make_unique<Reader>(publisher_.get()));
    readers_.back()->stream().Create({.key = key, .range_end = range_end});
    readers_.back()->TakeEvents();
  }

  // Has `count` puts of `key` written, for Publish. Once, after the watches have been added.
  void Write(std::string_view key, std::int64_t count) {
    store_->SetCommitListener(&recorder_);
    for (std::int64_t i = 0; i < count; ++i) {
      const absl::Status status = store_->Put({.key = key, .value = Value()}).status();
      if (!status.ok()) Die("writing what is to be watched", status.ToString());
    }
  }

  void Publish() { publisher_->OnCommit(recorder_.batches()[published_++]); }

  [[nodiscard]] std::size_t TakeEvents() {
    std::size_t events = 0;
    for (const std::unique_ptr<Reader>& reader : readers_) events += reader->TakeEvents();
    return events;
  }

  [[nodiscard]] bool AllFull() const {
    for (const std::unique_ptr<Reader>& reader : readers_) {
      if (!reader->stream().Full()) return false;
    }
    return true;
  }

  // The events that each watch of the written key has been owed since the start.
  [[nodiscard]] std::size_t published() const { return published_; }

 private:
  ScratchStore store_;
  Recorder recorder_;
  std::unique_ptr<watch::Publisher> publisher_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::size_t published_ = 0;
};

// One event to each of `watchers` watches of one key, published and taken from each stream.
void Deliver(benchmark::State& state, int watchers) {
  Scene scene;
  const Key key(0);
  for (int i = 0; i < watchers; ++i) scene.AddWatch(key.view(), {});
  scene.Write(key.view(), state.max_iterations);
  std::size_t taken = 0;
  {
    AllocationMeter allocations(&state);
    for (auto _ : state) {
      scene.Publish();
      taken += scene.TakeEvents();
    }
  }
  if (taken != scene.published() * static_cast<std::size_t>(watchers)) {
    state.SkipWithError("an event was lost or came twice");
  }
}

// An event that none of `watchers` watches wants, half of them of single keys and half of ranges.
void NoMatch(benchmark::State& state, int watchers) {
  Scene scene;
  for (int i = 0; i < watchers; ++i) {
    const Key begin(10 * i);
    const Key end(10 * i + 5);
    scene.AddWatch(begin.view(), i % 2 == 0 ? end.view() : std::string_view());
  }
  const Key unwatched(7);
  scene.Write(unwatched.view(), state.max_iterations);
  {
    AllocationMeter allocations(&state);
    for (auto _ : state) scene.Publish();
  }
  if (scene.TakeEvents() != 0) state.SkipWithError("an event came to a watch that does not want it");
}

// An event that `watchers` watches want whose streams nobody has read for long. In the loop is what that
// costs the writer; that nothing is lost is seen after it, when the streams are read and caught up.
void BuffersFull(benchmark::State& state, int watchers) {
  constexpr std::int64_t kToFill = watch::kQueueDeliveriesMax + 1;
  constexpr std::chrono::seconds kPatience{60};
  Scene scene;
  const Key key(0);
  for (int i = 0; i < watchers; ++i) scene.AddWatch(key.view(), {});
  scene.Write(key.view(), kToFill + static_cast<std::int64_t>(state.max_iterations));
  for (std::int64_t i = 0; i < kToFill; ++i) scene.Publish();
  if (!scene.AllFull()) return state.SkipWithError("a stream is not full");
  {
    AllocationMeter allocations(&state);
    for (auto _ : state) scene.Publish();
  }
  const std::size_t owed = scene.published() * static_cast<std::size_t>(watchers);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::size_t taken = scene.TakeEvents();
  while (taken < owed && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    taken += scene.TakeEvents();
  }
  if (taken != owed) state.SkipWithError("an event was lost or came twice");
}

// A watch of a range, created and cancelled on a stream that goes on, and the replies to both taken.
void Subscribe(benchmark::State& state) {
  ScratchStore store;
  const std::unique_ptr<watch::Publisher> publisher = watch::Publisher::Create(&*store);
  Reader reader(publisher.get());
  const Key begin(0);
  const Key end(5);
  constexpr watch::WatchId kId = 1;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    reader.stream().Create({.key = begin.view(), .range_end = end.view(), .watch_id = kId});
    reader.stream().Cancel(kId);
    reader.TakeEvents();
  }
}

void AddAll(Suite* suite) {
  for (const int watchers : {1, 10, 100, 1000}) {
    suite->Add("WatchDeliver/" + std::to_string(watchers),
               [watchers](benchmark::State& state) { Deliver(state, watchers); },
               {.iterations = suite->BigSize(watchers < 100 ? 100'000 : 1'000'000 / watchers)});
  }
  suite->Add("WatchNoMatch/1000", [](benchmark::State& state) { NoMatch(state, 1000); },
             {.iterations = suite->BigSize(100'000)});
  suite->Add("WatchBuffersFull/100", [](benchmark::State& state) { BuffersFull(state, 100); },
             {.iterations = suite->BigSize(20'000)});
  suite->Add("WatchSubscribe", Subscribe);
}

}  // namespace
}  // namespace kvist::bench

int main(int argc, char** argv) {
  kvist::bench::Suite suite("kvist/watch_bench", argc, argv);
  kvist::bench::AddAll(&suite);
  return suite.Run();
}
