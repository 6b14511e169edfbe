// See grpc_server.h.

#include "etcdv3/grpc_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace kvist::etcdv3 {
namespace {

// How far above our bound gRPC's own lies.
constexpr std::size_t kMessageSlackBytes = std::size_t{16} << 20;

constexpr int kMetadataBytesMax = 1 << 20;

// etcd's defaults: clients may ping every 5 s, and only with a call open; the server pings after two idle
// hours and gives up after 20 s.
constexpr int kClientPingMillisMin = 5000;
constexpr int kKeepaliveMillis = 2 * 60 * 60 * 1000;
constexpr int kKeepaliveTimeoutMillis = 20 * 1000;

void SetChannelArguments(grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kClientPingMillisMin);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const Services& services, const GrpcServerOptions& options) {
    environment_.generic = &generic_;
    environment_.services = services;
    environment_.message_bytes_max = options.message_bytes_max;
    environment_.slow_call = options.slow_call;
    environment_.report_slow_call = options.report_slow_call;
  }

  ~GrpcServerImpl() override { Shutdown(std::chrono::nanoseconds(0)); }

  absl::Status Listen(const GrpcServerOptions& options);
  void Shutdown(std::chrono::nanoseconds grace) override;
  [[nodiscard]] const std::vector<int>& ports() const override { return ports_; }

 private:
  CallEnvironment environment_;
  grpc::AsyncGenericService generic_;
  std::vector<int> ports_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<CallLoop>> loops_;
};

absl::Status GrpcServerImpl::Listen(const GrpcServerOptions& options) {
  grpc::ServerBuilder builder;
  SetChannelArguments(&builder);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.message_bytes_max + kMessageSlackBytes));
  builder.SetMaxSendMessageSize(-1);  // no bound
  builder.RegisterAsyncGenericService(&generic_);
  ports_.resize(options.addresses.size());
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    builder.AddListeningPort(options.addresses[i], grpc::InsecureServerCredentials(), &ports_[i]);
  }
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues(
      std::max(2U, std::thread::hardware_concurrency()));
  for (auto& queue : queues) queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::UnavailableError("cannot listen on the given addresses");
  for (auto& queue : queues) loops_.push_back(std::make_unique<CallLoop>(std::move(queue), &environment_));
  return absl::OkStatus();
}

void GrpcServerImpl::Shutdown(std::chrono::nanoseconds grace) {
  if (server_ == nullptr) return;
  for (const auto& loop : loops_) loop->EndStreams();
  const gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(grace.count(), GPR_TIMESPAN));
  server_->Shutdown(deadline);
  for (const auto& loop : loops_) loop->WaitUntilIdle();
  loops_.clear();
  server_ = nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const Services& services,
                                                              const GrpcServerOptions& options) {
  auto server = std::make_unique<GrpcServerImpl>(services, options);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace kvist::etcdv3
