// The front door: the etcd services on gRPC, all methods through one generic service, one completion queue
// and one thread a core.

#ifndef KVIST_ETCDV3_GRPC_SERVER_H_
#define KVIST_ETCDV3_GRPC_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "etcdv3/call_loop.h"
#include "etcdv3/method_table.h"

namespace kvist::etcdv3 {

struct GrpcServerOptions {
  // In gRPC's form: "127.0.0.1:2379", "localhost:2379", "[::1]:2379", "unix:/run/kvist.sock". Port 0 takes
  // a free one.
  std::vector<std::string> addresses;
  // A request larger than this is refused. (gRPC's own bound lies well above, so that clients mostly read
  // etcd's text.)
  std::size_t message_bytes_max = kDefaultRequestBytesMax + 512 * 1024;
  // A unary call that takes longer is reported, on a thread of the server: be short.
  std::chrono::nanoseconds slow_call = std::chrono::milliseconds(300);
  std::function<void(const SlowCall&)> report_slow_call;
};

// Threads: every method may be called from any thread that is not one of the server's own.
class GrpcServer {
 public:
  // Listens and serves. `services` and what it points to are borrowed. UNAVAILABLE if an address cannot be
  // listened on; the message names it.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const Services& services,
                                                           const GrpcServerOptions& options);

  // Stops, with no time left for calls under way, if Shutdown has not.
  virtual ~GrpcServer() = default;

  // Takes no new calls, ends streams with UNAVAILABLE at once, lets unary calls finish until `grace` has
  // passed and cancels what is left. Returns when no call is left, so that the store may be closed. Once.
  virtual void Shutdown(std::chrono::nanoseconds grace) = 0;

  // The port of each address, in their order; 0 for unix sockets.
  [[nodiscard]] virtual const std::vector<int>& ports() const = 0;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_GRPC_SERVER_H_
