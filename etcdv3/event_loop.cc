// See event_loop.h.

#include "etcdv3/event_loop.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <utility>

namespace kvist::etcdv3 {
namespace {

// The loop that the current thread serves, if any.
thread_local const EventLoop* current_loop = nullptr;

}  // namespace

EventLoop::EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)), waker_(grpc::CreateChannel("", nullptr)), thread_([this] { Serve(); }) {}

EventLoop::~EventLoop() {
  while (posting_.load() != 0) std::this_thread::yield();
  queue_->Shutdown();
  thread_.join();
}

void EventLoop::Post(Task* task) {
  posting_.fetch_add(1);
  Push(task);
  // On its own thread the loop looks at the list without being woken.
  if (current_loop != this && !waking_.exchange(true)) {
    waker_->NotifyOnStateChange(GRPC_CHANNEL_TRANSIENT_FAILURE, gpr_inf_past(GPR_CLOCK_MONOTONIC),
                                queue_.get(), &wake_up_);
  }
  posting_.fetch_sub(1);
}

void EventLoop::Push(Task* task) {
  Task* head = posted_.load(std::memory_order_relaxed);
  do {
    task->next_ = head;
  } while (!posted_.compare_exchange_weak(head, task));
}

void EventLoop::RunPosted() {
  while (Task* newest = posted_.exchange(nullptr)) {
    Task* oldest = nullptr;
    while (newest != nullptr) {
      Task* next = newest->next_;
      newest->next_ = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      Task* task = oldest;
      oldest = task->next_;
      task->Run();
    }
  }
}

void EventLoop::Serve() {
  current_loop = this;
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    static_cast<Tag*>(tag)->OnEvent(ok);
    RunPosted();
  }
}

}  // namespace kvist::etcdv3
