// Counts what a benchmark allocates: every malloc of the process (operator new and the C libraries call it),
// on every thread.

#ifndef KVIST_BENCH_SUPPORT_ALLOCATION_METER_H_
#define KVIST_BENCH_SUPPORT_ALLOCATION_METER_H_

#include <benchmark/benchmark.h>

#include <cstdint>

namespace kvist::bench {

struct AllocationTotals {
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // as asked for
};

// Of the process since its start. A reallocation counts as an allocation of its new size. Exact when no
// other thread allocates meanwhile. From any thread.
AllocationTotals AllocationsSoFar();

// Reports B/op and allocs/op of the time it lives, less what lies between Pause and Resume. Make it right
// before the loop; where a benchmark has several threads, on the first of them only, whose loop begins and
// ends with those of the others.
class AllocationMeter {
 public:
  explicit AllocationMeter(benchmark::State* state) : state_(state) { Resume(); }
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  void Pause();
  void Resume() { resumed_at_ = AllocationsSoFar(); }

 private:
  benchmark::State* const state_;
  AllocationTotals resumed_at_;
  AllocationTotals counted_;
};

}  // namespace kvist::bench

#endif  // KVIST_BENCH_SUPPORT_ALLOCATION_METER_H_
