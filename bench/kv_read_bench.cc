// Reads of a store with 10,000 keys, each put twice.

#include <string>
#include <utility>

#include "bench/kv_bench.h"
#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"

namespace kvist::bench {
namespace {

constexpr std::int64_t kKeys = 10'000;

struct SmallStore {
  SmallStore() {
    store.Load(0, kKeys);
    after_first_load = store->CurrentRevision();
    store.Load(0, kKeys);
  }
  ScratchStore store;
  kv::Revision after_first_load = 0;
};

// Shared by the benchmarks, made when the first of them runs.
const SmallStore& Small() {
  static const SmallStore small;
  return small;
}

// A key at random, at `revision` or, if that is 0, the current one.
void ReadSingleKey(benchmark::State& state, kv::Revision revision) {
  kv::Engine& store = *Small().store;
  Key key(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    key.Set(Scattered(n++) % kKeys);
    kv::RangeResult result;
    if (Failed(store.Range({.key = key.view(), .revision = revision}, &result), &state)) break;
    if (result.count != 1) {
      state.SkipWithError("the key was not there");
      break;
    }
  }
}

// The keys of a prefix that `keys` of them have, a power of ten.
void ReadPrefix(benchmark::State& state, std::int64_t keys, bool keys_only) {
  kv::Engine& store = *Small().store;
  const std::size_t prefix_bytes = kKeyBytes - std::to_string(keys).size() + 1;
  Key begin(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    begin.Set(Scattered(n++) % (kKeys / keys) * keys);
    const std::string_view prefix = begin.view().substr(0, prefix_bytes);
    std::string end(prefix);
    ++end.back();
    kv::RangeResult result;
    const absl::Status status =
        store.Range({.key = prefix, .range_end = end, .keys_only = keys_only}, &result);
    if (Failed(status, &state)) break;
    if (result.count != keys) {
      state.SkipWithError("wrong number of keys");
      break;
    }
  }
}

void ReadCurrentRevision(benchmark::State& state) {
  const kv::Engine& store = *Small().store;
  AllocationMeter allocations(&state);
  for (auto _ : state) benchmark::DoNotOptimize(store.CurrentRevision());
}

}  // namespace

void AddReadBenchmarks(Suite* suite) {
  suite->Add("RangeQuery/SingleKey", [](benchmark::State& state) { ReadSingleKey(state, 0); });
  suite->Add("RangeQuery/AtRevision",
             [](benchmark::State& state) { ReadSingleKey(state, Small().after_first_load); });
  for (const int keys : {10, 100, 1000}) {
    suite->Add("RangeQuery/Prefix" + std::to_string(keys),
               [keys](benchmark::State& state) { ReadPrefix(state, keys, /*keys_only=*/false); });
  }
  suite->Add("RangeQuery/KeysOnly100",
             [](benchmark::State& state) { ReadPrefix(state, 100, /*keys_only=*/true); });
  suite->Add("CurrentRevision", ReadCurrentRevision);
}

}  // namespace kvist::bench
