// The URLs that --listen-client-urls takes, and whether they can be listened on.

#ifndef KVIST_SERVER_LISTEN_URL_H_
#define KVIST_SERVER_LISTEN_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kvist::server {

// One of the two forms: a host (an IP address or "localhost") with a port, or a path of a unix socket.
struct ListenAddress {
  std::string url;  // as given
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;

  // The address in gRPC's form: "127.0.0.1:2379", "[::1]:2379", "unix:/path".
  [[nodiscard]] std::string ForGrpc() const;
};

// Reads "http://<IP or localhost>:<port>" and "unix:///<path>". INVALID_ARGUMENT for anything else; the
// message says what is wrong and what to write.
absl::StatusOr<ListenAddress> ParseListenUrl(std::string_view url);

// Tries to listen, and stops at once: gRPC itself does not tell why it cannot. UNAVAILABLE, with the
// reason. The path of a unix socket is not tried.
absl::Status CheckCanListen(const ListenAddress& address);

}  // namespace kvist::server

#endif  // KVIST_SERVER_LISTEN_URL_H_
