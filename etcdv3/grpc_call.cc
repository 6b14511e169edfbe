// See grpc_call.h.

#include "etcdv3/grpc_call.h"

#include <utility>

#include "etcdv3/errors.h"
#include "etcdv3/grpc_message.h"

namespace kvist::etcdv3 {

void GrpcCall::Accept() {
  context_.emplace();
  stream_ops_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(&done_tag_);
  grpc::ServerCompletionQueue* queue = loop_->events()->queue();
  loop_->environment().generic->RequestCall(&*context_, &*stream_ops_, queue, queue, &accepted_tag_);
}

void GrpcCall::OnAccepted(bool ok) {
  if (!ok) {  // the server is shutting down; OnDone does not come
    Reset();
    return loop_->Recycle(this);
  }
  loop_->Accept();
  method_ = FindMethod(context_->method());
  if (method_ == nullptr) return Finish(WhyNotServed(context_->method()));
  if (method_->unary != nullptr) return stream_ops_->Read(&request_buffer_, &read_tag_);
  stream_ = std::make_unique<GrpcStream>(this, loop_, &*stream_ops_);
  stream_->Start(*method_);
}

void GrpcCall::OnRead(bool ok) {
  if (!ok) return Finish(MissingMessageError());
  const std::size_t bytes_max = loop_->environment().message_bytes_max;
  if (request_buffer_.Length() > bytes_max) {
    return Finish(MessageTooLargeError(request_buffer_.Length(), bytes_max));
  }
  started_ = std::chrono::steady_clock::now();
  set_message(Contiguous(request_buffer_, &request_slice_));
  method_->unary(loop_->environment().services, this);
}

void GrpcCall::Finish(const absl::Status& outcome) {
  if (!outcome.ok()) {
    ReportIfSlow(outcome, 0);
    return stream_ops_->Finish(ToGrpcStatus(outcome), &finished_tag_);
  }
  const grpc::ByteBuffer reply = ToByteBuffer(loop_->reply_in_use());
  ReportIfSlow(outcome, reply.Length());
  stream_ops_->WriteAndFinish(reply, grpc::WriteOptions(), grpc::Status::OK, &finished_tag_);
}

void GrpcCall::OnFinished(bool) {
  finished_ = true;
  RecycleIfOver();
}

void GrpcCall::OnDone(bool) {
  done_ = true;
  if (stream_ != nullptr) stream_->OnCallOver();
  RecycleIfOver();
}

void GrpcCall::EndStream() {
  if (stream_ != nullptr) stream_->Finish(ServerStoppedError());
}

std::string_view GrpcCall::ActorName() {
  peer_ = context_->peer();
  return PeerHost(peer_);
}

void GrpcCall::RecycleIfOver() {
  if (!done_ || !(stream_ != nullptr ? stream_->idle() : finished_)) return;
  Reset();
  loop_->Recycle(this);
}

void GrpcCall::ReportIfSlow(const absl::Status& outcome, std::size_t reply_bytes) const {
  const CallEnvironment& environment = loop_->environment();
  if (started_ == std::chrono::steady_clock::time_point{} || !environment.report_slow_call) return;
  const auto took = std::chrono::steady_clock::now() - started_;
  if (took <= environment.slow_call) return;
  const std::string peer = context_->peer();
  environment.report_slow_call({.method = context_->method(),
                                .peer = PeerHost(peer),
                                .took = took,
                                .request_bytes = message().size(),
                                .reply_bytes = reply_bytes,
                                .code = outcome.code()});
}

// Lets go of all that belongs to the call that is over.
void GrpcCall::Reset() {
  stream_.reset();
  stream_ops_.reset();
  context_.reset();
  request_buffer_.Clear();
  request_slice_ = grpc::Slice();
  result.emplace<kv::PutResult>();
  status = absl::OkStatus();
  method_ = nullptr;
  started_ = {};
  done_ = false;
  finished_ = false;
}

}  // namespace kvist::etcdv3
