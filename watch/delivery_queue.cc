#include "watch/delivery_queue.h"

#include <algorithm>
#include <iterator>

namespace kvist::watch {
namespace {

// An empty queue keeps memory for so many deliveries (12 kB) and gives back what a burst took beyond.
constexpr std::size_t kDeliveriesKept = 256;

}  // namespace

void DeliveryQueue::Take(std::size_t max, std::vector<Delivery>* out) {
  if (max >= size() && first_ == 0 && out->empty()) {
    std::swap(deliveries_, *out);
    bytes_ = 0;
  } else {
    for (std::size_t left = std::min(max, size()); left > 0; --left) Pop(out);
  }
  DropTaken();
}

void DeliveryQueue::Pop(std::vector<Delivery>* out) {
  Delivery& front = deliveries_[first_++];
  const bool last_with_block = empty() || deliveries_[first_].events != front.events;
  if (front.events != nullptr && last_with_block) bytes_ -= front.events->wire.size();
  out->push_back(std::move(front));
}

void DeliveryQueue::DropTaken() {
  if (empty()) {
    deliveries_.clear();
    first_ = 0;
    if (deliveries_.capacity() > kDeliveriesKept) deliveries_.shrink_to_fit();
  } else if (first_ > size()) {
    // At least as many have been taken as are moved: a constant cost for each.
    deliveries_.erase(deliveries_.begin(),
                      std::next(deliveries_.begin(), static_cast<std::ptrdiff_t>(first_)));
    first_ = 0;
  }
}

}  // namespace kvist::watch
