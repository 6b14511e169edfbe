// The queue between the publisher and the reader of one stream: ordered, bounded for events, and telling
// the sink when there is something to take.

#ifndef KVIST_WATCH_DELIVERY_QUEUE_H_
#define KVIST_WATCH_DELIVERY_QUEUE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/mutex.h"
#include "watch/delivery.h"

namespace kvist::watch {

class DeliveryQueue;
class StreamSink;

// Queues whose sinks are to be told: those that Push named. Notify each when no lock is held.
using ReadyList = absl::InlinedVector<DeliveryQueue*, 4>;

// Threads: every method may be called from any thread. Its lock is a leaf: nothing is called under it.
class DeliveryQueue {
 public:
  explicit DeliveryQueue(StreamSink* sink) : sink_(sink) {}

  // Appends, whatever the bounds. If that ends an emptiness, adds this queue to `*ready`; it then lives
  // until the Notify that this obliges to.
  void Push(Delivery delivery, ReadyList* ready);

  // The same within the bounds: if the queue is full, leaves it as it is and returns false, and a Take
  // that makes room will say so.
  [[nodiscard]] bool PushIfRoom(Delivery delivery, ReadyList* ready);

  // As PushIfRoom without the push.
  [[nodiscard]] bool HasRoom();

  [[nodiscard]] bool Full() const;

  struct Taken {
    bool more = false;       // the queue is not empty
    bool made_room = false;  // somebody was turned away since the last time this was set, and may return
  };
  // Moves up to `max` deliveries from the front to the end of `*out`.
  Taken Take(std::size_t max, std::vector<Delivery>* out);

  // Tells the sink. The queue may be gone after.
  void Notify();

  // Returns when each Push that named this queue has been followed by its Notify. No Push may follow.
  void AwaitNotified();

 private:
  [[nodiscard]] std::size_t size() const REQUIRES(mu_) { return deliveries_.size() - first_; }
  [[nodiscard]] bool FullLocked() const REQUIRES(mu_);
  void PushLocked(Delivery delivery, ReadyList* ready) REQUIRES(mu_);
  void PopLocked(std::vector<Delivery>* out) REQUIRES(mu_);
  void DropTakenLocked() REQUIRES(mu_);

  StreamSink* const sink_;

  mutable Mutex mu_;
  CondVar notified_;
  std::vector<Delivery> deliveries_ GUARDED_BY(mu_);  // those before first_ have been taken
  std::size_t first_ GUARDED_BY(mu_) = 0;
  // Of the events queued. A block counts once for deliveries that follow each other.
  std::size_t bytes_ GUARDED_BY(mu_) = 0;
  bool turned_away_ GUARDED_BY(mu_) = false;  // since the last Taken::made_room
  int notifies_due_ GUARDED_BY(mu_) = 0;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_DELIVERY_QUEUE_H_
