#include "watch/delivery_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "watch/publisher.h"

namespace kvist::watch {
namespace {

// An empty queue keeps memory for so many deliveries (12 kB) and gives back what a burst took beyond.
constexpr std::size_t kDeliveriesKept = 256;

}  // namespace

void DeliveryQueue::Push(Delivery delivery, ReadyList* ready) {
  MutexLock lock(&mu_);
  PushLocked(std::move(delivery), ready);
}

bool DeliveryQueue::PushIfRoom(Delivery delivery, ReadyList* ready) {
  MutexLock lock(&mu_);
  if (FullLocked()) {
    turned_away_ = true;
    return false;
  }
  PushLocked(std::move(delivery), ready);
  return true;
}

bool DeliveryQueue::HasRoom() {
  MutexLock lock(&mu_);
  if (!FullLocked()) return true;
  turned_away_ = true;
  return false;
}

bool DeliveryQueue::Full() const {
  MutexLock lock(&mu_);
  return FullLocked();
}

bool DeliveryQueue::FullLocked() const { return size() >= kQueueDeliveriesMax || bytes_ >= kQueueBytesMax; }

void DeliveryQueue::PushLocked(Delivery delivery, ReadyList* ready) {
  const bool was_empty = size() == 0;
  if (delivery.events != nullptr && (was_empty || deliveries_.back().events != delivery.events)) {
    bytes_ += delivery.events->wire.size();
  }
  deliveries_.push_back(std::move(delivery));
  if (was_empty) {
    ++notifies_due_;
    ready->push_back(this);
  }
}

DeliveryQueue::Taken DeliveryQueue::Take(std::size_t max, std::vector<Delivery>* out) {
  MutexLock lock(&mu_);
  if (max >= size() && first_ == 0 && out->empty()) {
    std::swap(deliveries_, *out);
    bytes_ = 0;
  } else {
    for (std::size_t left = std::min(max, size()); left > 0; --left) PopLocked(out);
  }
  DropTakenLocked();
  Taken taken;
  taken.more = size() > 0;
  // Not at the first free place: who was turned away should come back for more than one delivery.
  if (turned_away_ && size() <= kQueueDeliveriesMax / 2 && bytes_ <= kQueueBytesMax / 2) {
    turned_away_ = false;
    taken.made_room = true;
  }
  return taken;
}

void DeliveryQueue::PopLocked(std::vector<Delivery>* out) {
  Delivery& front = deliveries_[first_++];
  const bool last_with_block = size() == 0 || deliveries_[first_].events != front.events;
  if (front.events != nullptr && last_with_block) bytes_ -= front.events->wire.size();
  out->push_back(std::move(front));
}

void DeliveryQueue::DropTakenLocked() {
  if (size() == 0) {
    deliveries_.clear();
    first_ = 0;
    if (deliveries_.capacity() > kDeliveriesKept) deliveries_.shrink_to_fit();
  } else if (first_ > size()) {
    // At least as many have been taken as are moved: constant cost for each.
    deliveries_.erase(deliveries_.begin(),
                      std::next(deliveries_.begin(), static_cast<std::ptrdiff_t>(first_)));
    first_ = 0;
  }
}

void DeliveryQueue::Notify() {
  sink_->OnReady();
  MutexLock lock(&mu_);
  --notifies_due_;
  // Under the lock, as who waits for this destroys the queue.
  if (notifies_due_ == 0) notified_.SignalAll();
}

void DeliveryQueue::AwaitNotified() {
  MutexLock lock(&mu_);
  while (notifies_due_ > 0) notified_.Wait(&mu_);
}

}  // namespace kvist::watch
