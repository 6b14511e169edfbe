// Servers as processes of their own: kvist under test, and a real etcd beside it. This file must know
// nothing of what a test does with them.

#ifndef KVIST_TESTS_SUPPORT_SERVER_PROCESS_H_
#define KVIST_TESTS_SUPPORT_SERVER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kvist::blackbox {

struct ServerOptions {
  // The program, and how its flags look.
  std::string binary{};
  bool is_etcd = false;
  std::string data_dir{};
  // 0: any free one.
  int port = 0;
  // False: do not wait for the disk. For tests that are not about durability.
  bool sync = true;
  std::vector<std::string> extra_flags{};
  // The output goes here, appended; by default beside the data directory, as <data_dir>.log.
  std::string log_file{};
};

// How a process ended: with an exit code, or by a signal.
struct ExitStatus {
  int code = -1;
  int signal = 0;
};

// The server to test: KVIST_BIN, which ctest sets. Ends the program when there is none. It may name an etcd,
// too, to see what a test says of that.
ServerOptions ServerUnderTest();

// The real etcd to compare with: KVIST_ORACLE, else build/tools/etcd in the source tree, else Debian's.
// Empty when there is none.
std::string EtcdBinary();

// The version an etcd program names, like "3.7.1".
std::string EtcdVersion(const std::string& binary);

// A port nobody listens on, below the range the system takes ports of outgoing connections from: a
// client that hunts for a dead server could otherwise be given the server's own port.
int FreePort();

// Runs `argv` to its end and returns how it ended; what it printed goes to *output.
ExitStatus RunToEnd(const std::vector<std::string>& argv, std::string* output);

// A running server. Not to be shared between threads. It dies with the thread that started it, so that
// an interrupted test leaves nothing behind: start it from a thread that outlives it.
class ServerProcess {
 public:
  // Starts the server and waits until it answers. The error holds the end of its log.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(const ServerOptions& options);

  // Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // SIGKILL; returns when the process is gone.
  void Kill9();
  // SIGTERM; waits up to 20 s for the end, then kills.
  ExitStatus Terminate();

  [[nodiscard]] bool Running();
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // All that it printed so far, and what earlier servers with the same log file did.
  [[nodiscard]] std::string Log() const;
  // Bytes of memory the process holds now (VmRSS).
  [[nodiscard]] std::int64_t ResidentBytes() const { return StatusBytes("VmRSS:"); }
  // Those of them that are its own, and not pages of mapped files (RssAnon).
  [[nodiscard]] std::int64_t OwnBytes() const { return StatusBytes("RssAnon:"); }

 private:
  ServerProcess(pid_t pid, int port, std::string log_file)
      : pid_(pid), port_(port), log_file_(std::move(log_file)) {}
  absl::Status WaitUntilReady();
  [[nodiscard]] std::int64_t StatusBytes(const std::string& field) const;
  bool Reap(int wait_flags);

  pid_t pid_;
  const int port_;
  const std::string log_file_;
  bool gone_ = false;
  ExitStatus exit_;
};

// The command line that Start uses, for tests of servers that must refuse to start. REQUIRES: a port.
std::vector<std::string> CommandLine(const ServerOptions& options);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_SUPPORT_SERVER_PROCESS_H_
