// See grpc_stream.h.

#include "etcdv3/grpc_stream.h"

#include <grpc/support/time.h>

#include <utility>

#include "etcdv3/call_loop.h"
#include "etcdv3/errors.h"
#include "etcdv3/grpc_call.h"
#include "etcdv3/grpc_message.h"

namespace kvist::etcdv3 {

void GrpcStream::Start(const Method& method) {
  if (loop_->ending()) return Finish(ServerStoppedError());
  handler_ = method.stream(loop_->environment().services, this);
}

bool GrpcStream::idle() const {
  return ended_ && !reading_ && !sending_ && !finishing_ && !timing_ && !waking_.load();
}

void GrpcStream::TellIfIdle() {
  if (idle()) call_->OnStreamIdle();
}

void GrpcStream::Read() {
  reading_ = true;
  ops_->Read(&message_, &read_tag_);
}

void GrpcStream::OnRead(bool ok) {
  reading_ = false;
  if (ended_) return TellIfIdle();
  if (!ok) return handler_->OnHalfClose();
  const std::size_t bytes_max = loop_->environment().message_bytes_max;
  if (message_.Length() > bytes_max) return Finish(MessageTooLargeError(message_.Length(), bytes_max));
  grpc::Slice slice;
  handler_->OnMessage(Contiguous(message_, &slice));
}

ReplyBuffer* GrpcStream::reply() { return loop_->reply(); }

void GrpcStream::Send(const SharedBytes& tail, bool more) {
  grpc::WriteOptions options;
  // With the hint a stream's first write, which has the initial metadata before it, would never end.
  if (more && sent_any_) options.set_buffer_hint();
  sent_any_ = true;
  sending_ = true;
  ops_->Write(ToByteBuffer(loop_->reply_in_use(), tail), options, &sent_tag_);
}

void GrpcStream::OnSent(bool ok) {
  sending_ = false;
  if (ended_) {
    StartFinish();
    return TellIfIdle();
  }
  if (ok) handler_->OnSent();  // else the client is gone, and OnCallOver comes
}

void GrpcStream::Finish(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  status_ = status;
  StartFinish();
}

// gRPC wants the last write done before the status is given.
void GrpcStream::StartFinish() {
  if (sending_ || over_) return;
  over_ = true;
  finishing_ = true;
  ops_->Finish(ToGrpcStatus(status_), &finished_tag_);
}

void GrpcStream::OnFinished(bool) {
  finishing_ = false;
  End();
  TellIfIdle();
}

void GrpcStream::OnCallOver() {
  over_ = true;
  End();
}

// Lets the handler go. Not from within one of its methods.
void GrpcStream::End() {
  ended_ = true;
  if (timing_) timer_.Cancel();
  handler_.reset();
}

void GrpcStream::SetTimer(std::chrono::nanoseconds delay) {
  timing_ = true;
  const gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(delay.count(), GPR_TIMESPAN));
  timer_.Set(loop_->events()->queue(), deadline, &timer_tag_);
}

void GrpcStream::OnTimer(bool) {
  timing_ = false;
  if (ended_) return TellIfIdle();
  handler_->OnTimer();
}

void GrpcStream::Wake() {
  waking_.store(true);
  loop_->events()->Post(this);
}

void GrpcStream::Run() {
  waking_.store(false);
  if (ended_) return TellIfIdle();
  handler_->OnWake();
}

}  // namespace kvist::etcdv3
