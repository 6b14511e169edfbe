// What a store with many keys costs: to count and page through, to open, and of memory.

#include <malloc.h>

#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "bench/kv_bench.h"
#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"

namespace kvist::bench {
namespace {

constexpr std::int64_t kBigStoreKeys = 1'000'000;
constexpr std::int64_t kPageKeys = 500;

// The big store, shared by the benchmarks and made when the first of them runs.
ScratchStore& Big(std::int64_t keys) {
  static ScratchStore store;
  static bool loaded = false;
  if (!loaded) store.Load(0, keys);
  loaded = true;
  return store;
}

// Past every key of the store.
constexpr std::string_view kEnd = "/registry/pods/default/pod.";

void CountAll(benchmark::State& state, std::int64_t keys) {
  kv::Engine& store = *Big(keys);
  const Key begin(0);
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    kv::RangeResult result;
    const absl::Status status =
        store.Range({.key = begin.view(), .range_end = kEnd, .count_only = true}, &result);
    if (Failed(status, &state)) break;
    if (result.count != keys) {
      state.SkipWithError("wrong count");
      break;
    }
  }
}

// A page from anywhere to the end, which says how many keys come after it too.
void ReadPage(benchmark::State& state, std::int64_t keys) {
  kv::Engine& store = *Big(keys);
  Key begin(0);
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    begin.Set(Scattered(n++) % (keys - kPageKeys));
    kv::RangeResult result;
    const absl::Status status =
        store.Range({.key = begin.view(), .range_end = kEnd, .limit = kPageKeys}, &result);
    if (Failed(status, &state)) break;
    if (!result.more) {
      state.SkipWithError("not a page of more");
      break;
    }
  }
}

// The process's memory but for mapped files: those pages are the kernel's to take back.
std::int64_t AnonymousBytes() {
  constexpr std::string_view kField = "RssAnon:";
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kField)) return std::stoll(line.substr(kField.size())) * 1024;
  }
  return 0;
}

void Open(benchmark::State& state, std::int64_t keys) {
  ScratchStore& store = Big(keys);
  store.Close();
  const std::int64_t bytes_before = AnonymousBytes();
  {
    AllocationMeter allocations(&state);
    for (auto _ : state) store.Open();
  }
  const auto grown = static_cast<double>(AnonymousBytes() - bytes_before);
  state.counters["RSS-B/key"] = grown / static_cast<double>(keys);
}

}  // namespace

void AddBigStoreBenchmarks(Suite* suite) {
  const std::int64_t keys = suite->BigSize(kBigStoreKeys);
  const std::string size = std::to_string(keys);
  suite->Add("RangeQuery/CountOf" + size, [keys](benchmark::State& state) { CountAll(state, keys); });
  suite->Add("RangeQuery/Page500Of" + size, [keys](benchmark::State& state) { ReadPage(state, keys); });
  suite->Add("Open/" + size, [keys](benchmark::State& state) { Open(state, keys); }, {.iterations = 1});
}

}  // namespace kvist::bench
