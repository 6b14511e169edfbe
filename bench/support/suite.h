// The program around a suite of benchmarks: flags, names, samples and the exit status.

#ifndef KVIST_BENCH_SUPPORT_SUITE_H_
#define KVIST_BENCH_SUPPORT_SUITE_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kvist::bench {

// Usage: a program makes one, adds its benchmarks, and returns what Run returns from main.
//
// Flags:
//   --filter=REGEX  only benchmarks in whose name it matches somewhere
//   --quick         a smoke run: sizes are small (and names say so), one sample as short as can be
//   and those of Google Benchmark, such as --benchmark_repetitions and --benchmark_min_time
class Suite {
 public:
  using Function = std::function<void(benchmark::State&)>;
  struct Options {
    int threads = 1;
    std::int64_t iterations = 0;  // 0: as many as --benchmark_min_time asks for
  };

  // `package` is what the report names, such as kvist/kv_bench. A wrong flag ends the process.
  Suite(std::string package, int argc, char** argv);

  // Reports a failure with state.SkipWithError.
  void Add(const std::string& name, Function function) { Add(name, std::move(function), Options()); }
  void Add(const std::string& name, Function function, const Options& options);

  // How many keys a benchmark of a big store has: `wanted`, or a few in a quick run.
  [[nodiscard]] std::int64_t BigSize(std::int64_t wanted) const;

  // Runs what was added and returns the exit status: 1 if a benchmark failed, 3 if the filter chose none.
  int Run();

 private:
  const std::string package_;
  std::string filter_;
  bool quick_ = false;
  int chosen_ = 0;
};

}  // namespace kvist::bench

#endif  // KVIST_BENCH_SUPPORT_SUITE_H_
