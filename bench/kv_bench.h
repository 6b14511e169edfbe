// The parts of kv_bench: what a call of kv/engine.h costs, without a transport. NoSync unless the name ends
// in _Durable; 36-byte keys, 256-byte values. Requests whose content does not change are made before the
// loop; results are made anew for each call, as a server does.

#ifndef KVIST_BENCH_KV_BENCH_H_
#define KVIST_BENCH_KV_BENCH_H_

#include <benchmark/benchmark.h>

#include "absl/status/status.h"
#include "bench/support/suite.h"

namespace kvist::bench {

void AddWriteBenchmarks(Suite* suite);
void AddTxnBenchmarks(Suite* suite);
void AddReadBenchmarks(Suite* suite);
void AddBigStoreBenchmarks(Suite* suite);

// Whether `status` is an error, which is then that of the benchmark: leave the loop.
inline bool Failed(const absl::Status& status, benchmark::State* state) {
  if (!status.ok()) state->SkipWithError(status.ToString().c_str());
  return !status.ok();
}

}  // namespace kvist::bench

#endif  // KVIST_BENCH_KV_BENCH_H_
