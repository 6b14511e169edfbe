// A unary request on its way through a service, whatever carried it here: a socket, a gateway, a
// benchmark. Services know this and not the transport.

#ifndef KVIST_ETCDV3_UNARY_CALL_H_
#define KVIST_ETCDV3_UNARY_CALL_H_

#include <string_view>

#include "absl/status/status.h"
#include "etcdv3/reply_buffer.h"
#include "kv/engine.h"

namespace kvist::etcdv3 {

// Holds what a call needs of memory, so that a pooled call allocates nothing: it is itself the write that
// it may put to the engine.
//
// Threads: a call belongs to the thread it was dispatched on. Only Done, which the engine calls, comes
// from elsewhere, and has the rest of the work done on the call's own thread.
class UnaryCall : public kv::Write {
 public:
  // The rest of a call that had to wait for its write.
  class WriteHandler {
   public:
    // `call->status` and `call->result` are set. Must Finish the call, now or later.
    virtual void OnWritten(UnaryCall* call) = 0;

   protected:
    ~WriteHandler() = default;
  };

  // The request's bytes; valid until Finish.
  [[nodiscard]] std::string_view message() const { return message_; }

  // A cleared buffer for the reply. Its content is used by Finish, which must follow on this thread before
  // another call's reply() is used.
  virtual ReplyBuffer* reply() = 0;

  // Answers: the reply if `outcome` is ok, else the error. Once; the call may be gone afterwards.
  virtual void Finish(const absl::Status& outcome) = 0;

  // Puts the write, whose `request` has been set, to the engine; `handler` is called when it is done.
  // The call may be finished, and gone, when this returns.
  void Submit(kv::Engine* engine, kv::Lead lead, WriteHandler* handler) {
    handler_ = handler;
    actor = ActorName();
    engine->Submit(this, lead);
  }

  // kv::Write. For the engine alone.
  void Done() final { ScheduleWritten(); }

 protected:
  // Has Written called on the call's thread, now or later.
  virtual void ScheduleWritten() = 0;
  // Who calls, for the record of what was written; valid until Finish.
  virtual std::string_view ActorName() = 0;
  void Written() { handler_->OnWritten(this); }

  void set_message(std::string_view message) { message_ = message; }

 private:
  std::string_view message_;
  WriteHandler* handler_ = nullptr;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_UNARY_CALL_H_
