// The command line.

#ifndef KVIST_SERVER_FLAGS_H_
#define KVIST_SERVER_FLAGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"

namespace kvist::server {

// What `kvist serve` was told. The defaults are etcd's where etcd has the flag.
struct ServeFlags {
  std::string name = "default";
  std::string data_dir = "kvist-data";
  std::vector<std::string> listen_client_urls = {"http://localhost:2379"};
  std::vector<std::string> advertise_client_urls;  // those listened on, if none are given
  std::int64_t max_txn_ops = 128;
  std::size_t max_request_bytes = 1536 * 1024;
  std::chrono::nanoseconds watch_progress_notify_interval = std::chrono::minutes(10);
  std::chrono::nanoseconds warning_unary_request_duration = std::chrono::milliseconds(300);
  bool unsafe_no_fsync = false;
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kJson;
};

enum class Command { kServe, kVersion };

struct CommandLine {
  Command command = Command::kServe;
  ServeFlags serve;
};

// The codes that the process ends with.
inline constexpr int kExitOk = 0;
inline constexpr int kExitInvalid = 1;    // the configuration makes no sense, or cannot be had
inline constexpr int kExitBadFlag = 2;    // the command line cannot be read

// Reads the command line. If there is nothing to be run, because help was asked for or the line is wrong,
// that has been told on stdout or stderr and the code to exit with is returned.
[[nodiscard]] std::optional<int> ParseCommandLine(int argc, const char* const* argv, CommandLine* out);

}  // namespace kvist::server

#endif  // KVIST_SERVER_FLAGS_H_
