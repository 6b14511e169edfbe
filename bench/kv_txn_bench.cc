// Transactions.

#include <cstddef>
#include <string>
#include <vector>

#include "bench/kv_bench.h"
#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"

namespace kvist::bench {
namespace {

using Sync = ScratchStore::Sync;

constexpr std::int64_t kKeys = 1'000;

void CompareAndSwap(benchmark::State& state) {
  ScratchStore store;
  store.Load(0, kKeys);
  const Key key(kKeys / 2);
  kv::TxnRequest txn;
  txn.compare.push_back({.target = kv::CompareTarget::kMod, .key = key.view()});
  txn.success.push_back({kv::PutRequest{.key = key.view(), .value = Value()}});
  const absl::StatusOr<kv::PutResult> first = store->Put({.key = key.view(), .value = Value()});
  if (Failed(first.status(), &state)) return;
  txn.compare[0].number = first->revision;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    const absl::StatusOr<kv::TxnResult> result = store->Txn(txn);
    if (Failed(result.status(), &state)) break;
    if (!result->succeeded) {
      state.SkipWithError("the compare failed");
      break;
    }
    txn.compare[0].number = result->revision;
  }
}

// The branch that is not taken has the Put, the one taken is empty.
void CompareFails(benchmark::State& state) {
  ScratchStore store;
  store.Load(0, kKeys);
  const Key key(kKeys / 2);
  kv::TxnRequest txn;
  txn.compare.push_back({.target = kv::CompareTarget::kMod, .key = key.view(), .number = 1});
  txn.success.push_back({kv::PutRequest{.key = key.view(), .value = Value()}});
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    const absl::StatusOr<kv::TxnResult> result = store->Txn(txn);
    if (Failed(result.status(), &state)) break;
    if (result->succeeded) {
      state.SkipWithError("the compare held");
      break;
    }
  }
}

void ReadOnly(benchmark::State& state) {
  ScratchStore store;
  store.Load(0, kKeys);
  const Key key(kKeys / 2);
  kv::TxnRequest txn;
  txn.compare.push_back(
      {.result = kv::CompareResult::kGreater, .target = kv::CompareTarget::kMod, .key = key.view()});
  txn.success.push_back({kv::RangeRequest{.key = key.view()}});
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    kv::TxnResult result;
    if (Failed(store->ReadOnlyTxn(txn, &result), &state)) break;
    if (!result.succeeded) {
      state.SkipWithError("the compare failed");
      break;
    }
  }
}

// Overwrites the same keys each time.
void Puts(benchmark::State& state, int count, Sync sync) {
  ScratchStore store(sync);
  store.Load(0, kKeys);
  std::vector<Key> keys;
  keys.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) keys.emplace_back(Scattered(i) % kKeys);
  kv::TxnRequest txn;
  for (const Key& key : keys) {
    txn.success.push_back({kv::PutRequest{.key = key.view(), .value = Value()}});
  }
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    if (Failed(store->Txn(txn).status(), &state)) break;
  }
}

}  // namespace

void AddTxnBenchmarks(Suite* suite) {
  suite->Add("Txn/CompareAndSwap", CompareAndSwap);
  suite->Add("Txn/CompareFails", CompareFails);
  suite->Add("Txn/ReadOnly", ReadOnly);
  for (const int count : {1, 5, 20}) {
    const std::string name = "Txn/Puts" + std::to_string(count);
    suite->Add(name, [count](benchmark::State& state) { Puts(state, count, Sync::kNone); });
    suite->Add(name + "_Durable", [count](benchmark::State& state) { Puts(state, count, Sync::kDurable); });
  }
}

}  // namespace kvist::bench
