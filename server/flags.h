// The command line of kvist, as values.

#ifndef KVIST_SERVER_FLAGS_H_
#define KVIST_SERVER_FLAGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "etcdv3/kv_service.h"

namespace kvist::server {

// An address to listen on, as the user wrote it and as gRPC takes it.
struct ListenUrl {
  std::string url;
  std::string address;
};

// "http://127.0.0.1:2379", "http://localhost:2379", "http://[::1]:2379" or "unix:///path/to/socket".
// INVALID_ARGUMENT, with the URL and what is wrong with it.
absl::StatusOr<ListenUrl> ParseListenUrl(const std::string& url);

// What `kvist serve` was told.
struct ServeFlags {
  std::string name = "default";
  std::string data_dir = "kvist-data";
  std::vector<ListenUrl> listen_client_urls;
  std::vector<std::string> advertise_client_urls;  // where it listens if not given
  std::int64_t max_txn_ops = etcdv3::kDefaultTxnOpsMax;
  std::size_t max_request_bytes = etcdv3::kDefaultRequestBytesMax;
  std::chrono::nanoseconds watch_progress_notify_interval = std::chrono::minutes(10);
  std::chrono::nanoseconds warning_unary_request_duration = std::chrono::milliseconds(300);
  bool unsafe_no_fsync = false;
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kJson;
};

// There is nothing to run: print `text`, to stderr if the code is not 0, and exit.
struct Exit {
  int code = 0;
  std::string text;
};

// 0 with help or version; 2 if a flag is unknown or its value is not of its kind; 1 if a value is refused.
std::variant<ServeFlags, Exit> ParseCommandLine(int argc, const char* const* argv);

}  // namespace kvist::server

#endif  // KVIST_SERVER_FLAGS_H_
