#include "bench/kv_bench.h"

int main(int argc, char** argv) {
  kvist::bench::Suite suite("kvist/kv_bench", argc, argv);
  kvist::bench::AddWriteBenchmarks(&suite);
  kvist::bench::AddTxnBenchmarks(&suite);
  kvist::bench::AddReadBenchmarks(&suite);
  kvist::bench::AddBigStoreBenchmarks(&suite);
  return suite.Run();
}
