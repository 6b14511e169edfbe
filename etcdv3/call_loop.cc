// See call_loop.h.

#include "etcdv3/call_loop.h"

#include <utility>

#include "etcdv3/grpc_call.h"

namespace kvist::etcdv3 {
namespace {

// Calls that wait for requests to arrive. With one, bursts wait for each other; with hundreds, memory
// grows cold.
constexpr int kAcceptingCalls = 32;

// Calls kept for use again; each takes about 3 kB.
constexpr std::size_t kFreeCallsMax = 1024;

}  // namespace

CallLoop::CallLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, const CallEnvironment* environment)
    : environment_(*environment), events_(std::move(queue)) {
  events_.Post(&start_accepting_);
}

CallLoop::~CallLoop() = default;

ReplyBuffer* CallLoop::reply() {
  reply_.Clear();
  return &reply_;
}

void CallLoop::StartAccepting() {
  for (int i = 0; i < kAcceptingCalls; ++i) Accept();
}

void CallLoop::Accept() {
  std::unique_ptr<GrpcCall> call;
  if (free_.empty()) {
    call = std::make_unique<GrpcCall>(this);
  } else {
    call = std::move(free_.back());
    free_.pop_back();
  }
  call->set_place(live_.size());
  live_.push_back(call.release());
  live_.back()->Accept();
}

void CallLoop::Recycle(GrpcCall* call) {
  live_[call->place()] = live_.back();
  live_[call->place()]->set_place(call->place());
  live_.pop_back();
  std::unique_ptr<GrpcCall> owned(call);
  if (free_.size() < kFreeCallsMax) free_.push_back(std::move(owned));
  if (!live_.empty()) return;
  MutexLock lock(&mu_);
  idle_ = true;
  idle_changed_.SignalAll();
}

void CallLoop::EndStreams() { events_.Post(&end_streams_); }

void CallLoop::EndStreamsHere() {
  ending_ = true;
  // Ending a stream only starts an operation: no call leaves live_ meanwhile.
  for (GrpcCall* call : live_) call->EndStream();
}

void CallLoop::WaitUntilIdle() {
  MutexLock lock(&mu_);
  while (!idle_) idle_changed_.Wait(&mu_);
}

}  // namespace kvist::etcdv3
