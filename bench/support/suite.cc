#include "bench/support/suite.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string_view>
#include <utility>

#include "bench/support/go_reporter.h"

namespace kvist::bench {
namespace {

constexpr std::int64_t kQuickSizeMax = 20'000;

// Exit status.
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kNoneChosen = 3;

}  // namespace

Suite::Suite(std::string package, int argc, char** argv) : package_(std::move(package)) {
  constexpr std::string_view kFilterFlag = "--filter=";
  std::string quick_min_time = "--benchmark_min_time=0.001";
  std::vector<char*> for_library = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag.starts_with(kFilterFlag)) {
      filter_ = flag.substr(kFilterFlag.size());
    } else if (flag == "--quick") {
      quick_ = true;
      for_library.push_back(quick_min_time.data());
    } else {
      for_library.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(for_library.size());
  benchmark::Initialize(&count, for_library.data());
  if (benchmark::ReportUnrecognizedArguments(count, for_library.data())) std::exit(kWrongUsage);
}

void Suite::Add(const std::string& name, Function function, const Options& options) {
  if (!std::regex_search(name, std::regex(filter_))) return;
  ++chosen_;
  benchmark::internal::Benchmark* added = benchmark::RegisterBenchmark(name.c_str(), std::move(function));
  // What a caller waits for is time on the wall: a flush costs no processor time.
  added->UseRealTime()->Threads(options.threads);
  if (options.iterations > 0) added->Iterations(options.iterations);
}

std::int64_t Suite::BigSize(std::int64_t wanted) const {
  return quick_ ? std::min(wanted, kQuickSizeMax) : wanted;
}

int Suite::Run() {
  if (chosen_ == 0) {
    std::fprintf(stderr, "%s: no benchmark's name matches '%s'\n", package_.c_str(), filter_.c_str());
    return kNoneChosen;
  }
  GoReporter reporter(package_);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed() ? kFailed : 0;
}

}  // namespace kvist::bench
