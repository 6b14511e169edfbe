// Puts and deletions, and the flush that durable ones wait for.

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "bench/kv_bench.h"
#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"

namespace kvist::bench {
namespace {

using Sync = ScratchStore::Sync;

// Keys that are overwritten, one after the other in a scattered order.
constexpr std::int64_t kOverwrittenKeys = 10'000;

// New keys in scattered order, into a store that starts empty.
void PutNewKey(benchmark::State& state, Sync sync) {
  const ScratchStore store(sync);
  Key key(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    key.Set(Scattered(n++));
    if (Failed(store->Put({.key = key.view(), .value = Value()}).status(), &state)) break;
  }
}

void PutOverwrite(benchmark::State& state, Sync sync) {
  ScratchStore store(sync);
  store.Load(0, kOverwrittenKeys);
  Key key(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    key.Set(Scattered(n++) % kOverwrittenKeys);
    if (Failed(store->Put({.key = key.view(), .value = Value()}).status(), &state)) break;
  }
}

// Several threads put the same key. The time is that on the wall for each put of any of them.
void PutContended(benchmark::State& state, Sync sync) {
  static std::unique_ptr<ScratchStore> store;  // of all threads
  std::unique_ptr<AllocationMeter> allocations;
  if (state.thread_index() == 0) {
    store = std::make_unique<ScratchStore>(sync);
    allocations = std::make_unique<AllocationMeter>(&state);
  }
  const Key key(0);
  for (auto _ : state) {
    if (Failed((*store)->Put({.key = key.view(), .value = Value()}).status(), &state)) break;
  }
  if (state.thread_index() == 0) {
    allocations.reset();
    store.reset();
  }
}

void DeleteSingleKey(benchmark::State& state, Sync sync) {
  ScratchStore store(sync);
  store.Load(0, static_cast<std::int64_t>(state.max_iterations));
  Key key(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    key.Set(n++);
    const absl::StatusOr<kv::DeleteRangeResult> result = store->DeleteRange({.key = key.view()});
    if (Failed(result.status(), &state)) break;
    if (result->deleted != 1) {
      state.SkipWithError("the key was not there");
      break;
    }
  }
}

// What the disk takes for one flush of 4 kB into a file whose space is there already: the least that a
// durable write can cost.
void DiskFlush(benchmark::State& state) {
  constexpr int kPages = 256;
  const std::string page(4096, 'p');
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/flushed";
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) Die("making " + path, strerror(errno));
  const auto write_page = [&](int n) {
    return pwrite(file, page.data(), page.size(), static_cast<off_t>(page.size()) * n) ==
           static_cast<ssize_t>(page.size());
  };
  bool written = true;
  for (int n = 0; n < kPages; ++n) written &= write_page(n);
  if (!written || fsync(file) != 0) Die("writing " + path, strerror(errno));
  int n = 0;
  for (auto _ : state) {
    if (!write_page(n++ % kPages) || fdatasync(file) != 0) {
      state.SkipWithError(strerror(errno));
      break;
    }
  }
  close(file);
}

// Adds `function` twice: without flushes, and durable.
void AddBoth(Suite* suite, const std::string& name, void (*function)(benchmark::State&, Sync),
             const Suite::Options& options = {}) {
  suite->Add(
      name, [function](benchmark::State& state) { function(state, Sync::kNone); }, options);
  suite->Add(
      name + "_Durable", [function](benchmark::State& state) { function(state, Sync::kDurable); }, options);
}

}  // namespace

void AddWriteBenchmarks(Suite* suite) {
  suite->Add("DiskFlush", DiskFlush);
  AddBoth(suite, "PutKey/NewKey", PutNewKey);
  AddBoth(suite, "PutKey/Overwrite", PutOverwrite);
  AddBoth(suite, "PutKey/Contended8", PutContended, {.threads = 8});
  AddBoth(suite, "DeleteRange/SingleKey", DeleteSingleKey);
}

}  // namespace kvist::bench
