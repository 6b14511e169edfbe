// A completion queue and the thread that serves it. What belongs to one call is only ever touched on the
// thread of its loop, so calls need no locks; other threads hand work over with Post.

#ifndef KVIST_ETCDV3_EVENT_LOOP_H_
#define KVIST_ETCDV3_EVENT_LOOP_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <memory>
#include <thread>

namespace kvist::etcdv3 {

// What a gRPC operation is started with: told of its end, on the loop's thread.
class Tag {
 public:
  virtual void OnEvent(bool ok) = 0;

 protected:
  ~Tag() = default;
};

// A Tag that calls a method of its owner, who has one for each kind of operation.
template <typename Owner, void (Owner::*kMethod)(bool)>
class MemberTag final : public Tag {
 public:
  explicit MemberTag(Owner* owner) : owner_(owner) {}
  void OnEvent(bool ok) override { (owner_->*kMethod)(ok); }

 private:
  Owner* const owner_;
};

// A piece of work for a loop. Owned by who posts it; may be posted again from the moment Run is called.
class Task {
 public:
  virtual void Run() = 0;

 protected:
  virtual ~Task() = default;

 private:
  friend class EventLoop;
  Task* next_ = nullptr;
};

class EventLoop {
 public:
  // `queue` as ServerBuilder::AddCompletionQueue made it. The thread runs from here on.
  explicit EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue);

  // Waits for calls of Post under way, shuts the queue down, serves what is left of it and joins the
  // thread. No operation may be started and no Post begin from then on. Not on the loop's own thread.
  ~EventLoop();

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] grpc::ServerCompletionQueue* queue() const { return queue_.get(); }

  // Has `task` run on the loop's thread, in the order of posting of each thread. From any thread. A burst
  // of posts wakes the loop once.
  void Post(Task* task);

 private:
  void Serve();
  void Push(Task* task);
  void RunPosted();
  // The loop runs what was posted after every event; this one is there to be an event.
  void OnWakeUp(bool) { waking_.store(false); }

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  // Threads inside Post: their task may have been run, and all that it belongs to be over, before they are
  // out of it.
  std::atomic<int> posting_{0};
  // What was posted, newest first.
  std::atomic<Task*> posted_{nullptr};
  // Whether a wake-up is on its way: until it is seen all that is posted will be run.
  std::atomic<bool> waking_{false};
  MemberTag<EventLoop, &EventLoop::OnWakeUp> wake_up_{this};
  // A channel that can never connect. Asked to wait for a change of its state until a time that has
  // passed, gRPC puts the event on the queue before the call returns, and wakes the thread in about
  // 20 us. A grpc::Alarm goes through a timer thread and a pool instead: 600 us, measured beside it.
  const std::shared_ptr<grpc::Channel> waker_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_EVENT_LOOP_H_
