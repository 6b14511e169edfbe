// The kvist program. The only room that knows all the others.

#include <grpc/support/log.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/log.h"
#include "etcdv3/identity.h"
#include "server/flags.h"
#include "server/serve.h"
#include "server/version.h"

namespace kvist::server {
namespace {

// gRPC's own words go where ours go. What it calls an error is seldom more than a client that misbehaves.
void LogForGrpc(gpr_log_func_args* args) {
  const auto level = args->severity == GPR_LOG_SEVERITY_ERROR ? log::Warn : log::Debug;
  level("grpc", {{"text", args->message}, {"file", args->file}, {"line", args->line}});
}

sigset_t BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Ends as the signal would have ended a process that does not handle it, which is what etcd does and what
// shells and supervisors look at. The first process of a container cannot be ended so.
int EndBySignal(int signal, const sigset_t& signals) {
  if (getpid() == 1) return kExitOk;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return kExitOk;  // not reached
}

int RunServe(const ServeFlags& flags) {
  log::Configure(flags.log_format, flags.log_level);
  gpr_set_log_function(LogForGrpc);
  const sigset_t signals = BlockEndSignals();
  const absl::StatusOr<int> signal = ServeUntilSignal(flags, signals);
  if (!signal.ok()) {
    log::Error("cannot serve", {{"error", signal.status().message()}});
    return kExitInvalid;
  }
  log::Info("stopped");
  return EndBySignal(*signal, signals);
}

int PrintVersion() {
  std::printf("kvist %s\netcd API %s\n", kVersion, etcdv3::kEtcdVersion);
  return kExitOk;
}

}  // namespace
}  // namespace kvist::server

int main(int argc, char** argv) {
  kvist::server::CommandLine line;
  if (const auto code = kvist::server::ParseCommandLine(argc, argv, &line)) return *code;
  if (line.command == kvist::server::Command::kVersion) return kvist::server::PrintVersion();
  return kvist::server::RunServe(line.serve);
}
