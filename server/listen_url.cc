// See listen_url.h.

#include "server/listen_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace kvist::server {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kUnix = "unix://";
constexpr char kForms[] = "write http://<IP or localhost>:<port> or unix:///<path>";

absl::Status Invalid(std::string_view url, const std::string& why) {
  return absl::InvalidArgumentError("\"" + std::string(url) + "\": " + why);
}

bool IsIp(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Splits "host:port" and "[v6]:port".
bool SplitHostPort(std::string_view text, ListenAddress* out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return false;
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out->port);
  out->host = host;
  return error == std::errc() && end == port.data() + port.size();
}

absl::StatusOr<ListenAddress> ParseUnix(std::string_view url) {
  const std::string_view path = url.substr(kUnix.size());
  if (!path.starts_with('/')) return Invalid(url, "the path of a unix socket must begin at the root, as in unix:///run/kvist.sock");
  return ListenAddress{.url = std::string(url), .host = {}, .port = 0, .unix_path = std::string(path)};
}

// The socket addresses of a host: "localhost" has one of each family, and either will do.
struct Sockaddr {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Sockaddr ToSockaddr(const std::string& host, std::uint16_t port) {
  Sockaddr result;
  const std::string ip = host == "localhost" ? "127.0.0.1" : host;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    result.size = sizeof(*v4);
  } else if (inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    result.size = sizeof(*v6);
  }
  return result;
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

std::string ListenAddress::ForGrpc() const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  const std::string bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return bracketed + ":" + std::to_string(port);
}

absl::StatusOr<ListenAddress> ParseListenUrl(std::string_view url) {
  if (url.starts_with(kUnix)) return ParseUnix(url);
  if (url.starts_with("https://") || url.starts_with("unixs://")) {
    return Invalid(url, std::string("TLS is not supported yet; ") + kForms);
  }
  if (!url.starts_with(kHttp)) return Invalid(url, std::string("not a URL to listen on; ") + kForms);
  std::string_view rest = url.substr(kHttp.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  ListenAddress address;
  address.url = url;
  if (!SplitHostPort(rest, &address)) return Invalid(url, std::string("no host and port; ") + kForms);
  if (address.host != "localhost" && !IsIp(address.host)) {
    return Invalid(url, "expected an IP or localhost, since a name may stand for an address of another machine");
  }
  return address;
}

absl::Status CheckCanListen(const ListenAddress& address) {
  if (!address.unix_path.empty()) return absl::OkStatus();
  const Sockaddr target = ToSockaddr(address.host, address.port);
  const int fd = socket(target.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::UnavailableError("cannot listen on " + address.url + ": " + std::strerror(errno));
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool ok = bind(fd, reinterpret_cast<const sockaddr*>(&target.storage), target.size) == 0 &&
                  listen(fd, 1) == 0;
  const int error = errno;
  close(fd);
  if (ok) return absl::OkStatus();
  return absl::UnavailableError("cannot listen on " + address.url + ": " + Reason(error));
}

}  // namespace kvist::server
