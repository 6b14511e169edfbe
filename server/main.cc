// kvist: one binary. This file turns a command line and signals into a run of the server.

#include <grpc/support/log.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <variant>

#include "absl/synchronization/mutex.h"
#include "base/log.h"
#include "server/flags.h"
#include "server/serve.h"

namespace kvist::server {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// Returns the signal that asks to stop. From then on a second one ends the process at once.
int WaitForStopSignal() {
  const sigset_t signals = StopSignals();
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return signal_number;
}

// gRPC's own words go where ours go. What it calls an error is seldom more than a client that misbehaves.
void LogForGrpc(gpr_log_func_args* args) {
  const auto log = args->severity == GPR_LOG_SEVERITY_ERROR ? log::Warn : log::Debug;
  log("grpc", {{"text", args->message}, {"file", args->file}, {"line", args->line}});
}

int Run(const ServeFlags& flags) {
  log::Configure(flags.log_format, flags.log_level);
  gpr_set_log_function(LogForGrpc);
  signal(SIGPIPE, SIG_IGN);  // who reads the log may go away
  // Before any thread starts, so that all of them inherit it and the main thread alone sees the signals.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  int signal_number = 0;
  const absl::Status status = Serve(flags, [&] { signal_number = WaitForStopSignal(); });
  if (!status.ok()) {
    log::Error("cannot serve", {{"error", status.message()}});
    std::fprintf(stderr, "kvist: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  // The parent sees which signal it was, as with etcd. Process 1 ignores what it does not handle.
  if (getpid() != 1) raise(signal_number);
  return 0;
}

int Main(int argc, const char* const* argv) {
  // Debian builds Abseil with the deadlock detector of its mutexes on, which gRPC's locks pay for: a tenth of
  // a small request. Our own locks are not Abseil's.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::variant<ServeFlags, Exit> parsed = ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<Exit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
    return exit->code;
  }
  return Run(std::get<ServeFlags>(parsed));
}

}  // namespace
}  // namespace kvist::server

int main(int argc, char** argv) { return kvist::server::Main(argc, argv); }
