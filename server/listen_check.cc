#include "server/listen_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kvist::server {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// Reads "host:port" and "[v6]:port", as ParseListenUrl has them. "localhost" has an address in each family,
// of which one is enough: IPv4 is tried.
SocketAddress ToSocketAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port)) return {};
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (absl::StartsWith(host, "[")) {
    inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    result.size = sizeof(*v6);
  } else {
    inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    result.size = sizeof(*v4);
  }
  return result;
}

// 0, or the error number.
int TryToListen(const SocketAddress& address) {
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool ok =
      bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 && listen(fd, 1) == 0;
  const int error = ok ? 0 : errno;
  close(fd);
  return error;
}

// 0, or the error number. Binding would replace the socket of a server that runs, so it is called instead.
int CheckUnixPath(const std::string& path) {
  sockaddr_un address = {};
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const bool answered = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answered ? EADDRINUSE : 0;
}

std::string Reason(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another process listens there; stop it, or choose another address with --listen-client-urls";
    case EADDRNOTAVAIL:
      return "this machine has no such address; choose another with --listen-client-urls";
    case EACCES:
      return "not permitted (ports below 1024 are for root); choose another with --listen-client-urls";
    default:
      return std::strerror(error);
  }
}

}  // namespace

absl::Status CheckCanListen(const ListenUrl& url) {
  absl::string_view unix_path = url.address;
  const int error = absl::ConsumePrefix(&unix_path, "unix:") ? CheckUnixPath(std::string(unix_path))
                                                             : TryToListen(ToSocketAddress(url.address));
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen on ", url.url, ": ", Reason(error)));
}

}  // namespace kvist::server
