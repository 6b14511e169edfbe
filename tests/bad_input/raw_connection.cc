#include "tests/bad_input/raw_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace kvist::blackbox {
namespace {

constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kEndHeaders = 4;

std::string BigEndian(std::uint64_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text.push_back(static_cast<char>(number >> shift));
  return text;
}

// A header field in HPACK, literal and not to be remembered. Both are shorter than 127 bytes.
std::string Field(std::string_view name, std::string_view value) {
  std::string text(1, '\0');
  for (const std::string_view part : {name, value}) {
    text.push_back(static_cast<char>(part.size()));
    text.append(part);
  }
  return text;
}

}  // namespace

RawConnection::RawConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    std::fprintf(stderr, "nobody listens on port %d\n", port);
    std::abort();
  }
  const timeval timeout{10, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

RawConnection::~RawConnection() {
  const linger reset{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(fd_);
}

bool RawConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawConnection::SendFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                              std::string_view payload) {
  Send(BigEndian(payload.size(), 3) + BigEndian(type, 1) + BigEndian(flags, 1) + BigEndian(stream, 4) +
       std::string(payload));
}

void RawConnection::SendPreface() {
  Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  SendFrame(kSettings, 0, 0, "");
}

void RawConnection::StartCall(std::uint32_t stream, std::string_view path) {
  SendFrame(kHeaders, kEndHeaders, stream,
            Field(":method", "POST") + Field(":scheme", "http") + Field(":path", path) +
                Field(":authority", "localhost") + Field("content-type", "application/grpc") +
                Field("te", "trailers"));
}

void RawConnection::SendMessage(std::uint32_t stream, std::string_view message, std::size_t bytes) {
  const std::string framed = BigEndian(0, 1) + BigEndian(message.size(), 4) + std::string(message);
  SendFrame(kData, 0, stream, std::string_view(framed).substr(0, bytes));
}

bool RawConnection::Receive(std::string* received) {
  char buffer[4096];
  const ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
  if (size > 0) received->append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

bool RawConnection::AwaitText(std::string_view text) {
  std::string received;
  while (received.find(text) == std::string::npos) {
    if (!Receive(&received)) return false;
  }
  return true;
}

bool RawConnection::AwaitEnd() {
  std::string received;
  while (Receive(&received)) {
  }
  // A close or a reset, and not that the time ran out.
  return errno != EAGAIN;
}

}  // namespace kvist::blackbox
