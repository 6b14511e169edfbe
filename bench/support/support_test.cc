// The two things that figures hang on: what is printed is what was measured, and all allocations count.

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/allocation_meter.h"
#include "bench/support/go_reporter.h"

namespace kvist::bench {
namespace {

using Sampled = benchmark::BenchmarkReporter::Run;

Sampled Sample(const std::string& name) {
  Sampled run;
  run.run_name.function_name = name;
  run.run_name.time_type = "real_time";
  run.run_type = Sampled::RT_Iteration;
  run.iterations = 2000;
  run.real_accumulated_time = 0.003;
  run.cpu_accumulated_time = 0.000000123;
  run.counters["B/op"] = benchmark::Counter(310.4);
  run.counters["allocs/op"] = benchmark::Counter(2);
  return run;
}

class GoReporterTest : public ::testing::Test {
 protected:
  GoReporterTest() { reporter_.SetOutputStream(&out_); }

  std::ostringstream out_;
  GoReporter reporter_{"kvist/some_bench"};
};

TEST_F(GoReporterTest, PrintsALineForEachSampleAndNoneForAggregates) {
  Sampled mean = Sample("PutKey/NewKey");
  mean.run_type = Sampled::RT_Aggregate;
  reporter_.ReportRuns({Sample("PutKey/NewKey"), Sample("CurrentRevision"), mean});
  const std::string figures = "-1\t2000\t1500 ns/op\t0.0615 cpu-ns/op\t310.40 B/op\t2 allocs/op\n";
  EXPECT_EQ(out_.str(), "BenchmarkPutKey/NewKey" + figures + "BenchmarkCurrentRevision" + figures);
  EXPECT_FALSE(reporter_.failed());
}

TEST_F(GoReporterTest, TellsOfAnError) {
  Sampled run = Sample("Txn/ReadOnly");
  run.error_occurred = true;
  run.error_message = "the compare failed";
  reporter_.ReportRuns({run});
  EXPECT_EQ(out_.str(), "--- FAIL: BenchmarkTxn/ReadOnly\n    the compare failed\n");
  EXPECT_TRUE(reporter_.failed());
}

TEST(AllocationsTest, CountsOperatorNewAndCAndOtherThreads) {
  const AllocationTotals before = AllocationsSoFar();
  auto object = std::make_unique<char[]>(1000);
  benchmark::DoNotOptimize(object.get());
  void* block = std::malloc(100);
  benchmark::DoNotOptimize(block);
  block = std::realloc(block, 300);
  benchmark::DoNotOptimize(block);
  std::free(block);
  const AllocationTotals here = AllocationsSoFar();
  EXPECT_EQ(here.count - before.count, 3);
  EXPECT_EQ(here.bytes - before.bytes, 1400);

  AllocationTotals started;
  AllocationTotals ended;
  std::thread other([&] {
    started = AllocationsSoFar();
    std::vector<char> vector(5000);
    benchmark::DoNotOptimize(vector.data());
    ended = AllocationsSoFar();
  });
  other.join();
  EXPECT_EQ(ended.count - started.count, 1);
  EXPECT_EQ(ended.bytes - started.bytes, 5000);
  EXPECT_GE(AllocationsSoFar().count, ended.count);
}

}  // namespace
}  // namespace kvist::bench
