// Prints results in the Go benchmark text format, which benchstat reads.

#ifndef KVIST_BENCH_SUPPORT_GO_REPORTER_H_
#define KVIST_BENCH_SUPPORT_GO_REPORTER_H_

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace kvist::bench {

// A header with the machine, then a line for each sample: name, iterations, ns/op on the wall, cpu-ns/op of
// the threads in the loop (the steadier of the two on a busy machine; it has no flush and no thread of the
// store's own), and each counter as value and unit, its unit being its name.
class GoReporter final : public benchmark::BenchmarkReporter {
 public:
  // `package` is what the header names.
  explicit GoReporter(std::string package) : package_(std::move(package)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  // Whether any benchmark reported an error.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void ReportRun(const Run& run);

  const std::string package_;
  int cpus_ = 1;
  bool failed_ = false;
};

}  // namespace kvist::bench

#endif  // KVIST_BENCH_SUPPORT_GO_REPORTER_H_
