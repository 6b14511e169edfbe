// The queue between the publisher and the reader of one stream: ordered, and bounded for events.

#ifndef KVIST_WATCH_DELIVERY_QUEUE_H_
#define KVIST_WATCH_DELIVERY_QUEUE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "watch/delivery.h"
#include "watch/publisher.h"

namespace kvist::watch {

// Not thread-safe: guarded by the publisher's lock, as the rest of a stream.
class DeliveryQueue {
 public:
  [[nodiscard]] bool empty() const { return size() == 0; }

  // Whether events have to wait. Push takes them nevertheless, and all else.
  [[nodiscard]] bool Full() const { return size() >= kQueueDeliveriesMax || bytes_ >= kQueueBytesMax; }

  // Whether who was kept out by Full may come back. Not at the first free place: for more than one delivery.
  [[nodiscard]] bool HasRoomAgain() const {
    return size() <= kQueueDeliveriesMax / 2 && bytes_ <= kQueueBytesMax / 2;
  }

  void Push(Delivery&& delivery) {
    if (delivery.events != nullptr && (empty() || deliveries_.back().events != delivery.events)) {
      bytes_ += delivery.events->wire.size();
    }
    deliveries_.push_back(std::move(delivery));
  }

  // Moves up to `max` deliveries from the front to the end of `*out`.
  void Take(std::size_t max, std::vector<Delivery>* out);

 private:
  [[nodiscard]] std::size_t size() const { return deliveries_.size() - first_; }
  void Pop(std::vector<Delivery>* out);
  void DropTaken();

  std::vector<Delivery> deliveries_;  // those before first_ have been taken
  std::size_t first_ = 0;
  // Of the events queued. A block counts once for deliveries that follow each other.
  std::size_t bytes_ = 0;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_DELIVERY_QUEUE_H_
