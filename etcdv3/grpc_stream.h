// The transport's half of a streaming call on gRPC: one read, one write and one timer at a time.

#ifndef KVIST_ETCDV3_GRPC_STREAM_H_
#define KVIST_ETCDV3_GRPC_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "etcdv3/event_loop.h"
#include "etcdv3/method_table.h"
#include "etcdv3/stream_call.h"

namespace kvist::etcdv3 {

class CallLoop;
class GrpcCall;

// Threads: that of the loop, but for Wake.
class GrpcStream final : public StreamCall, private Task {
 public:
  // `call` owns this; `ops` is what it was accepted with.
  GrpcStream(GrpcCall* call, CallLoop* loop, grpc::GenericServerAsyncReaderWriter* ops)
      : call_(call), loop_(loop), ops_(ops) {}

  // Makes the method's handler. Refuses with UNAVAILABLE if the loop is ending its streams.
  void Start(const Method& method);

  // The client has the status or is gone.
  void OnCallOver();

  // Whether nothing is under way and nothing will be.
  [[nodiscard]] bool idle() const;

  // StreamCall.
  void Read() override;
  ReplyBuffer* reply() override;
  void Send(const SharedBytes& tail, bool more) override;
  void Finish(const absl::Status& status) override;
  void SetTimer(std::chrono::nanoseconds delay) override;
  void Wake() override;

 private:
  void OnRead(bool ok);
  void OnSent(bool ok);
  void OnFinished(bool ok);
  void OnTimer(bool ok);
  void Run() override;

  void StartFinish();
  void End();
  void TellIfIdle();

  GrpcCall* const call_;
  CallLoop* const loop_;
  grpc::GenericServerAsyncReaderWriter* const ops_;

  grpc::ByteBuffer message_;
  grpc::Alarm timer_;
  absl::Status status_;  // what the call is to end with

  // What is under way.
  bool reading_ = false;
  bool sending_ = false;
  bool finishing_ = false;
  bool timing_ = false;
  std::atomic<bool> waking_{false};

  bool sent_any_ = false;
  bool ended_ = false;  // the handler is told nothing any more
  bool over_ = false;   // nothing more can be sent

  MemberTag<GrpcStream, &GrpcStream::OnRead> read_tag_{this};
  MemberTag<GrpcStream, &GrpcStream::OnSent> sent_tag_{this};
  MemberTag<GrpcStream, &GrpcStream::OnFinished> finished_tag_{this};
  MemberTag<GrpcStream, &GrpcStream::OnTimer> timer_tag_{this};

  std::unique_ptr<StreamHandler> handler_;  // null before Start and after the end
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_GRPC_STREAM_H_
