#include "tests/support/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/client.h"

namespace kvist::blackbox {
namespace {

constexpr int kFirstPort = 24000;
constexpr int kPorts = 1000;
constexpr auto kReadyTimeout = std::chrono::seconds(30);
constexpr auto kTerminateTimeout = std::chrono::seconds(20);

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Starts a program with its output appended to `log_file`; -1 if there is no process to be had.
pid_t Spawn(const std::vector<std::string>& command, const std::string& log_file) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t pid = fork();
  if (pid == 0) {  // only what is safe between fork and exec
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(log);
  return pid;
}

ExitStatus Decode(int wait_status) {
  ExitStatus exit;
  if (WIFEXITED(wait_status)) exit.code = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) exit.signal = WTERMSIG(wait_status);
  return exit;
}

std::vector<std::string> EtcdCommandLine(const ServerOptions& options) {
  const std::string client_url = absl::StrCat("http://127.0.0.1:", options.port);
  const std::string peer_url = absl::StrCat("http://127.0.0.1:", FreePort());
  std::vector<std::string> command = {options.binary,
                                      "--name=oracle",
                                      "--data-dir=" + options.data_dir,
                                      "--listen-client-urls=" + client_url,
                                      "--advertise-client-urls=" + client_url,
                                      "--listen-peer-urls=" + peer_url,
                                      "--initial-advertise-peer-urls=" + peer_url,
                                      "--initial-cluster=oracle=" + peer_url,
                                      "--heartbeat-interval=20",  // a lone member need not wait long to lead
                                      "--election-timeout=200",
                                      "--log-level=error"};
  if (!options.sync) command.emplace_back("--unsafe-no-fsync");
  return command;
}

}  // namespace

ServerOptions ServerUnderTest() {
  const char* path = std::getenv("KVIST_BIN");
  if (path == nullptr || *path == '\0') {
    std::fprintf(stderr, "KVIST_BIN must name the kvist program to test\n");
    std::exit(2);
  }
  const std::string name = std::filesystem::path(path).filename();
  return {.binary = path, .is_etcd = absl::StartsWith(name, "etcd")};
}

std::string EtcdBinary() {
  const char* chosen = std::getenv("KVIST_ORACLE");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const char* path : {KVIST_SOURCE_DIR "/build/tools/etcd", "/usr/bin/etcd"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

std::string EtcdVersion(const std::string& binary) {
  std::string output;
  RunToEnd({binary, "--version"}, &output);
  const std::string label = "etcd Version: ";
  const std::size_t at = output.find(label);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + label.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

int FreePort() {
  static int next = static_cast<int>(std::random_device{}() % kPorts);
  for (int tries = 0; tries < kPorts; ++tries) {
    const int port = kFirstPort + next;
    next = (next + 1) % kPorts;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free) return port;
  }
  std::fprintf(stderr, "no free port from %d on\n", kFirstPort);
  std::abort();
}

std::vector<std::string> CommandLine(const ServerOptions& options) {
  std::vector<std::string> command;
  if (options.is_etcd) {
    command = EtcdCommandLine(options);
  } else {
    command = {options.binary,         "serve",
               "--data-dir",           options.data_dir,
               "--listen-client-urls", absl::StrCat("http://127.0.0.1:", options.port)};
    if (!options.sync) command.emplace_back("--unsafe-no-fsync");
  }
  command.insert(command.end(), options.extra_flags.begin(), options.extra_flags.end());
  return command;
}

ExitStatus RunToEnd(const std::vector<std::string>& argv, std::string* output) {
  char log[] = "/tmp/kvist-output-XXXXXX";
  close(mkstemp(log));
  int status = 0;
  const pid_t pid = Spawn(argv, log);
  const auto deadline = std::chrono::steady_clock::now() + kReadyTimeout;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  *output = ReadFile(log);
  unlink(log);
  return Decode(status);
}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const ServerOptions& options) {
  ServerOptions chosen = options;
  if (chosen.log_file.empty()) chosen.log_file = chosen.data_dir + ".log";
  absl::Status status;
  // Someone may take a port between our look and the server's start: another one is tried then.
  for (int tries = 0; tries < 3; ++tries) {
    if (options.port == 0) chosen.port = FreePort();
    const pid_t pid = Spawn(CommandLine(chosen), chosen.log_file);
    std::unique_ptr<ServerProcess> server(new ServerProcess(pid, chosen.port, chosen.log_file));
    status = server->WaitUntilReady();
    if (status.ok()) return server;
    const std::string log = server->Log();
    const bool is_taken = absl::StrContains(log, "in use") || absl::StrContains(log, "listens there");
    if (options.port != 0 || !is_taken) break;
  }
  return status;
}

absl::Status ServerProcess::WaitUntilReady() {
  const auto deadline = std::chrono::steady_clock::now() + kReadyTimeout;
  const Client client(port_);
  std::string last = "nothing";
  while (std::chrono::steady_clock::now() < deadline) {
    etcdserverpb::RangeRequest request;
    request.set_key("kvist-test-ready");
    etcdserverpb::RangeResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    context.set_wait_for_ready(true);  // only a call that waits moves the connection on
    const grpc::Status answer = client.kv->Range(&context, request, &response);
    if (answer.ok() && Running()) return absl::OkStatus();
    last = Describe(answer);
    if (!Running()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string log = Log();
  return absl::UnavailableError(
      absl::StrCat(Running() ? "the server does not answer but " + last
                             : absl::StrCat("the server ended with code ", exit_.code),
                   "; the end of its log:\n", log.substr(log.size() > 4000 ? log.size() - 4000 : 0)));
}

ServerProcess::~ServerProcess() { Kill9(); }

bool ServerProcess::Reap(int wait_flags) {
  int status = 0;
  if (!gone_ && waitpid(pid_, &status, wait_flags) == pid_) {
    gone_ = true;
    exit_ = Decode(status);
  }
  return gone_;
}

bool ServerProcess::Running() { return !Reap(WNOHANG); }

void ServerProcess::Kill9() {
  if (gone_) return;
  kill(pid_, SIGKILL);
  Reap(0);
}

ExitStatus ServerProcess::Terminate() {
  if (!gone_) kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kTerminateTimeout;
  while (Running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Kill9();
  return exit_;
}

std::string ServerProcess::Log() const { return ReadFile(log_file_); }

std::int64_t ServerProcess::StatusBytes(const std::string& field) const {
  std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, field)) return std::atoll(line.c_str() + field.size()) * 1024;
  }
  return 0;
}

}  // namespace kvist::blackbox
