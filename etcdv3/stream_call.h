// A streaming call, whatever carries it, and the service's half of it. Services know this and not the
// transport.
//
// Threads: a call and its handler live on one thread; only Wake may be called from others.

#ifndef KVIST_ETCDV3_STREAM_CALL_H_
#define KVIST_ETCDV3_STREAM_CALL_H_

#include <chrono>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "etcdv3/reply_buffer.h"

namespace kvist::etcdv3 {

// Bytes that may be shared by many messages. `owner` keeps them alive.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

// The transport's half.
class StreamCall {
 public:
  // Asks for the client's next message, once at a time: OnMessage or OnHalfClose follows.
  virtual void Read() = 0;

  // A cleared buffer to build a message in, for the Send that follows on this thread.
  virtual ReplyBuffer* reply() = 0;

  // Sends the message in reply(), continued by `tail`. One at a time: OnSent follows. `more` says that
  // another Send follows at once, so that both may leave together.
  virtual void Send(const SharedBytes& tail, bool more) = 0;

  // Ends the call with a status, behind what was sent. Nothing is called on the handler from then on.
  virtual void Finish(const absl::Status& status) = 0;

  // OnTimer follows after `delay`. One at a time.
  virtual void SetTimer(std::chrono::nanoseconds delay) = 0;

  // OnWake follows. From any thread, until the handler is destroyed; not again before OnWake.
  virtual void Wake() = 0;

 protected:
  ~StreamCall() = default;
};

// The service's half. Destroyed when the call has ended, for whatever reason: Finish, the client's
// cancelling or vanishing, or the server's stopping.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;

  // `message` is valid during the call.
  virtual void OnMessage(std::string_view message) = 0;

  // The client sends no more, and still listens.
  virtual void OnHalfClose() = 0;

  virtual void OnSent() = 0;
  virtual void OnWake() {}
  virtual void OnTimer() {}
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_STREAM_CALL_H_
