// Whether an address can be listened on, and why not: gRPC itself tells only that it cannot.

#ifndef KVIST_SERVER_LISTEN_CHECK_H_
#define KVIST_SERVER_LISTEN_CHECK_H_

#include "absl/status/status.h"
#include "server/flags.h"

namespace kvist::server {

// Binds the address and lets it go, or tries whether somebody answers at the path of a unix socket.
// UNAVAILABLE, with the URL, the reason and what to do.
absl::Status CheckCanListen(const ListenUrl& url);

}  // namespace kvist::server

#endif  // KVIST_SERVER_LISTEN_CHECK_H_
