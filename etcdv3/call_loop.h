// One event loop of the server with the calls that live on it.

#ifndef KVIST_ETCDV3_CALL_LOOP_H_
#define KVIST_ETCDV3_CALL_LOOP_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "etcdv3/event_loop.h"
#include "etcdv3/method_table.h"
#include "etcdv3/reply_buffer.h"

namespace kvist::etcdv3 {

class GrpcCall;

// A unary call that took longer than it should. The views are valid during the report.
struct SlowCall {
  std::string_view method;  // as in "/etcdserverpb.KV/Range"
  std::string_view peer;
  std::chrono::nanoseconds took{};
  std::size_t request_bytes = 0;
  std::size_t reply_bytes = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
};

// What all calls of a server share. Constant while it runs.
struct CallEnvironment {
  grpc::AsyncGenericService* generic = nullptr;
  Services services;
  std::size_t message_bytes_max = 0;                      // of a request
  std::chrono::nanoseconds slow_call{};                   // a unary call that takes longer is reported
  std::function<void(const SlowCall&)> report_slow_call;  // on the call's thread; null: nobody is told
};

// Threads: what is not said to be for any thread is for the loop's own.
class CallLoop {
 public:
  // Accepts calls from here on, so the server must run. `environment` is borrowed.
  CallLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, const CallEnvironment* environment);

  // All calls must be gone. Not on the loop's own thread.
  ~CallLoop();

  // Ends the open streams, and those that come, with UNAVAILABLE. Any thread, once.
  void EndStreams();

  // Waits until no call is left, which comes to be after the server was shut down. Any other thread.
  void WaitUntilIdle();

  [[nodiscard]] const CallEnvironment& environment() const { return environment_; }
  [[nodiscard]] EventLoop* events() { return &events_; }
  [[nodiscard]] bool ending() const { return ending_; }

  // The buffer that the call in hand builds its reply in; cleared.
  [[nodiscard]] ReplyBuffer* reply();
  // The same, with what is in it.
  [[nodiscard]] ReplyBuffer* reply_in_use() { return &reply_; }

  // Readies a call for the next request to arrive.
  void Accept();

  // Takes back a call that is over.
  void Recycle(GrpcCall* call);

 private:
  // Runs a method of the loop on its thread.
  template <void (CallLoop::*kMethod)()>
  class LoopTask final : public Task {
   public:
    explicit LoopTask(CallLoop* loop) : loop_(loop) {}
    void Run() override { (loop_->*kMethod)(); }

   private:
    CallLoop* const loop_;
  };

  void StartAccepting();
  void EndStreamsHere();

  const CallEnvironment& environment_;

  // Of the loop's thread alone.
  ReplyBuffer reply_;
  std::vector<std::unique_ptr<GrpcCall>> free_;
  std::vector<GrpcCall*> live_;  // a call knows its place here
  bool ending_ = false;

  LoopTask<&CallLoop::StartAccepting> start_accepting_{this};
  LoopTask<&CallLoop::EndStreamsHere> end_streams_{this};

  Mutex mu_;
  CondVar idle_changed_;
  bool idle_ GUARDED_BY(mu_) = false;

  EventLoop events_;  // last: its thread uses all the others
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_CALL_LOOP_H_
