// `kvist serve`: puts the rooms together, serves, and takes them apart again.

#ifndef KVIST_SERVER_SERVE_H_
#define KVIST_SERVER_SERVE_H_

#include <csignal>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/flags.h"

namespace kvist::server {

// Serves until SIGTERM or SIGINT and returns which, after a clean end. The signals must be blocked in
// every thread. An error means that nothing was served; its message says what to do.
absl::StatusOr<int> ServeUntilSignal(const ServeFlags& flags, const sigset_t& signals);

}  // namespace kvist::server

#endif  // KVIST_SERVER_SERVE_H_
