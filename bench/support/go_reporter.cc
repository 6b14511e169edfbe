#include "bench/support/go_reporter.h"

#include <sys/utsname.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string_view>
#include <utility>

namespace kvist::bench {
namespace {

// The machine's architecture as Go names it.
std::string GoArchitecture() {
  utsname names;
  if (uname(&names) != 0) return "unknown";
  const std::string_view machine = names.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string(machine);
}

std::string CpuModel() {
  constexpr std::string_view kField = "model name\t: ";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with(kField)) return line.substr(kField.size());
  }
  return "unknown";
}

// With at least four digits that mean something, and whole numbers as such.
std::string FormatValue(double value) {
  int decimals = 0;
  if (value != std::floor(value)) {
    if (std::abs(value) < 1) {
      decimals = 4;
    } else if (std::abs(value) < 1000) {
      decimals = 2;
    }
  }
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// The name it was registered with, without what Google Benchmark adds to say how it was run.
const std::string& NameOf(const benchmark::BenchmarkReporter::Run& run) { return run.run_name.function_name; }

}  // namespace

bool GoReporter::ReportContext(const Context& context) {
  cpus_ = context.cpu_info.num_cpus;
  GetOutputStream() << "goos: linux\n"
                    << "goarch: " << GoArchitecture() << "\n"
                    << "pkg: " << package_ << "\n"
                    << "cpu: " << CpuModel() << "\n"
                    << std::flush;
  return true;
}

void GoReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    // Means and deviations are benchstat's work.
    if (run.run_type == Run::RT_Iteration) ReportRun(run);
  }
}

void GoReporter::ReportRun(const Run& run) {
  std::ostream& out = GetOutputStream();
  if (run.error_occurred) {
    failed_ = true;
    out << "--- FAIL: Benchmark" << NameOf(run) << "\n    " << run.error_message << "\n" << std::flush;
    return;
  }
  const double per_op = 1e9 / static_cast<double>(run.iterations);
  out << "Benchmark" << NameOf(run) << "-" << cpus_ << "\t" << run.iterations << "\t"
      << FormatValue(run.real_accumulated_time * per_op) << " ns/op\t"
      << FormatValue(run.cpu_accumulated_time * per_op) << " cpu-ns/op";
  for (const auto& [unit, counter] : run.counters) out << "\t" << FormatValue(counter.value) << " " << unit;
  out << "\n" << std::flush;
}

}  // namespace kvist::bench
