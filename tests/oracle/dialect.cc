#include "tests/oracle/dialect.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace kvist::blackbox {

Dialect DialectOf(std::string_view version) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(version), '.');
  int major = 0;
  int minor = 0;
  if (parts.size() >= 2 && absl::SimpleAtoi(parts[0], &major) && absl::SimpleAtoi(parts[1], &minor) &&
      (major > 3 || minor >= 7)) {
    return Dialect{};
  }
  return Dialect{.range_stream = false,
                 .checks_sort_options = false,
                 .checks_watch_start = false,
                 .progress_is_a_barrier = false,
                 .keeps_tombstone_at_compaction = false};
}

std::string LeftOut(const Dialect& dialect) {
  std::string text;
  if (!dialect.range_stream) text += "RangeStream; ";
  if (!dialect.checks_sort_options) text += "unknown sort orders and targets; ";
  if (!dialect.checks_watch_start) text += "watches with a negative start; ";
  if (!dialect.progress_is_a_barrier) text += "progress requests; ";
  if (!dialect.keeps_tombstone_at_compaction) text += "watches from exactly the compacted revision; ";
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

}  // namespace kvist::blackbox
