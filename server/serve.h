// One run of the server: the only place that knows every other room.

#ifndef KVIST_SERVER_SERVE_H_
#define KVIST_SERVER_SERVE_H_

#include <functional>

#include "absl/status/status.h"
#include "server/flags.h"

namespace kvist::server {

// Opens the store, serves clients until `wait_for_stop` returns, finishes what is in flight and closes. An
// error says, in one sentence for a person, why it could not start.
absl::Status Serve(const ServeFlags& flags, const std::function<void()>& wait_for_stop);

}  // namespace kvist::server

#endif  // KVIST_SERVER_SERVE_H_
