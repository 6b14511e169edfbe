// What a client asks to learn whom it talks to and how that is: Maintenance.Status and Alarm,
// Cluster.MemberList and grpc.health.v1.Health.

#ifndef KVIST_ETCDV3_STATUS_SERVICE_H_
#define KVIST_ETCDV3_STATUS_SERVICE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "etcdv3/identity.h"
#include "etcdv3/reply_buffer.h"
#include "etcdv3/stream_call.h"
#include "kv/engine.h"

namespace kvist::etcdv3 {

struct StorageSize {
  std::int64_t bytes = 0;
  std::int64_t bytes_in_use = 0;
};

struct StatusServiceOptions {
  Identity identity;
  std::string name;
  std::vector<std::string> peer_urls;
  std::vector<std::string> client_urls;
  // Called on the thread of the request: a Status costs what this costs.
  std::function<absl::StatusOr<StorageSize>()> storage_size;
};

// Threads: every method may be called from any thread at any time.
class StatusService final {
 public:
  // `engine` is borrowed.
  StatusService(kv::Engine* engine, StatusServiceOptions options)
      : engine_(engine), options_(std::move(options)) {}

  // Each answers the bytes of its request. On error `*reply` is unspecified.
  absl::Status Status(std::string_view message, ReplyBuffer* reply);
  // No alarm is ever raised yet, so there is none to list or to clear. UNIMPLEMENTED for raising one.
  absl::Status Alarm(std::string_view message, ReplyBuffer* reply);
  absl::Status MemberList(std::string_view message, ReplyBuffer* reply);
  // The one service there is to ask for is "", the server, which serves. NOT_FOUND for others.
  absl::Status HealthCheck(std::string_view message, ReplyBuffer* reply);
  absl::Status HealthList(std::string_view message, ReplyBuffer* reply);

 private:
  kv::Engine* const engine_;
  const StatusServiceOptions options_;
};

// Health.Watch: says once how the service is and then keeps the stream, since nothing changes while the
// server serves.
class HealthWatchHandler final : public StreamHandler {
 public:
  // `call` is borrowed. Begins to read.
  explicit HealthWatchHandler(StreamCall* call) : call_(call) { call_->Read(); }

  void OnMessage(std::string_view message) override;
  void OnHalfClose() override;
  void OnSent() override {}

 private:
  StreamCall* const call_;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_STATUS_SERVICE_H_
