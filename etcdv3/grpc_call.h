// A call on gRPC, from the wait for its arrival to its last event, and again. It serves a unary method
// itself and leaves a streaming one to a GrpcStream.

#ifndef KVIST_ETCDV3_GRPC_CALL_H_
#define KVIST_ETCDV3_GRPC_CALL_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "etcdv3/call_loop.h"
#include "etcdv3/event_loop.h"
#include "etcdv3/grpc_stream.h"
#include "etcdv3/unary_call.h"

namespace kvist::etcdv3 {

// Threads: that of its loop, but for Done.
//
// Life: Accept; OnAccepted, which starts the first operation; for a unary call OnRead, the handler, Finish
// and OnFinished. OnDone comes once for every accepted call, when its client has the status or is gone.
// When both have come, and no operation is under way, the call goes back to the loop.
class GrpcCall final : public UnaryCall, private Task {
 public:
  explicit GrpcCall(CallLoop* loop) : loop_(loop) {}

  // Waits for a request. Over, and ready for another, when the call is given to CallLoop::Recycle.
  void Accept();

  // Ends the call with UNAVAILABLE if it is a stream.
  void EndStream();

  // Told by the stream when none of its operations is under way.
  void OnStreamIdle() { RecycleIfOver(); }

  // UnaryCall.
  ReplyBuffer* reply() override { return loop_->reply(); }
  void Finish(const absl::Status& outcome) override;

  // Where the loop keeps the call.
  [[nodiscard]] std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }

 private:
  void OnAccepted(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);

  void ScheduleWritten() override { loop_->events()->Post(this); }
  void Run() override { Written(); }
  std::string_view ActorName() override;

  void Reset();
  void RecycleIfOver();
  void ReportIfSlow(const absl::Status& outcome, std::size_t reply_bytes) const;

  CallLoop* const loop_;
  std::size_t place_ = 0;

  // Of one call. The first two cannot be used again and are made anew for each.
  std::optional<grpc::GenericServerContext> context_;
  std::optional<grpc::GenericServerAsyncReaderWriter> stream_ops_;
  std::unique_ptr<GrpcStream> stream_;
  const Method* method_ = nullptr;
  grpc::ByteBuffer request_buffer_;
  grpc::Slice request_slice_;
  std::string peer_;
  std::chrono::steady_clock::time_point started_;  // when the request was there; epoch before
  bool done_ = false;                              // OnDone has come
  bool finished_ = false;                          // of a unary call: OnFinished has come

  MemberTag<GrpcCall, &GrpcCall::OnAccepted> accepted_tag_{this};
  MemberTag<GrpcCall, &GrpcCall::OnRead> read_tag_{this};
  MemberTag<GrpcCall, &GrpcCall::OnFinished> finished_tag_{this};
  MemberTag<GrpcCall, &GrpcCall::OnDone> done_tag_{this};
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_GRPC_CALL_H_
