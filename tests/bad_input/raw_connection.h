// A connection that speaks just enough HTTP/2 to break off in the middle of it.

#ifndef KVIST_TESTS_BAD_INPUT_RAW_CONNECTION_H_
#define KVIST_TESTS_BAD_INPUT_RAW_CONNECTION_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace kvist::blackbox {

// Used by one thread.
class RawConnection {
 public:
  // Connects to a port of this machine. Ends the program when nobody listens there.
  explicit RawConnection(int port);
  // Breaks off: the server sees a reset, whatever was under way.
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Sends bytes as they are. False when the server has closed the connection.
  bool Send(std::string_view bytes);
  // The preface and settings every HTTP/2 connection starts with.
  void SendPreface();
  // Opens a call on HTTP/2 stream `stream`, which is odd and larger than those before.
  void StartCall(std::uint32_t stream, std::string_view path);
  // Sends `message` in a call, but only the first `bytes` of what that takes.
  void SendMessage(std::uint32_t stream, std::string_view message,
                   std::size_t bytes = std::string_view::npos);

  // Waits until the server has sent `text`; what came before is dropped. False when it did not come.
  bool AwaitText(std::string_view text);
  // Waits until the server closes. False when it does not within 10 seconds.
  bool AwaitEnd();

 private:
  void SendFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);
  bool Receive(std::string* received);

  int fd_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_BAD_INPUT_RAW_CONNECTION_H_
