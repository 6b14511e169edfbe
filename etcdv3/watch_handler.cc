// See watch_handler.h.

#include "etcdv3/watch_handler.h"

#include <random>

#include "etcdv3/convert.h"
#include "etcdv3/encode.h"
#include "etcdv3/errors.h"

namespace kvist::etcdv3 {
namespace {

// How many deliveries are taken from the queue at once: enough that its lock is nothing a delivery.
constexpr std::size_t kTakeMax = 64;

std::chrono::nanoseconds WithJitter(std::chrono::nanoseconds interval) {
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::chrono::nanoseconds::rep> jitter(0, interval.count() / 10);
  return interval + std::chrono::nanoseconds(jitter(random));
}

// Where the piece of `block` that begins with event `first` ends: it has at least one event, and others as
// long as the response, of which `head_bytes` are not events, stays below `bytes_max`.
std::size_t PieceEnd(const watch::EventBlock& block, std::size_t first, std::size_t head_bytes,
                     std::size_t bytes_max) {
  std::size_t bytes = head_bytes + block.sizes[first];
  std::size_t end = first + 1;
  while (end < block.count() && bytes + block.sizes[end] < bytes_max) bytes += block.sizes[end++];
  return end;
}

}  // namespace

WatchHandler::WatchHandler(StreamCall* call, watch::Publisher* publisher, const WatchOptions& options)
    : call_(call),
      options_(options),
      tick_(WithJitter(options.progress_interval)),
      stream_(publisher->NewStream(this)) {
  ReadUnlessFull();
}

void WatchHandler::OnMessage(std::string_view message) {
  reading_ = false;
  WatchCommand command;
  if (!DecodeWatch(message, &command)) return call_->Finish(MalformedMessageError());
  if (const auto* create = std::get_if<watch::WatchRequest>(&command)) Create(*create);
  if (const auto* cancel = std::get_if<WatchCancel>(&command)) stream_->Cancel(cancel->watch_id);
  if (std::holds_alternative<WatchProgress>(command)) stream_->RequestProgress();
  ReadUnlessFull();
}

void WatchHandler::Create(const watch::WatchRequest& request) {
  stream_->Create(request);
  if (request.progress_notify) StartTicking();
}

void WatchHandler::ReadUnlessFull() {
  if (reading_ || stream_->Full()) return;
  reading_ = true;
  call_->Read();
}

void WatchHandler::StartTicking() {
  if (ticking_) return;
  ticking_ = true;
  call_->SetTimer(tick_);
}

void WatchHandler::OnTimer() {
  stream_->Tick();
  call_->SetTimer(tick_);
}

void WatchHandler::OnWake() {
  more_queued_ = true;
  if (!sending_) SendNext();
}

void WatchHandler::OnSent() {
  sending_ = false;
  SendNext();
}

// Makes taken_[next_] the next delivery to be sent, if there is one.
bool WatchHandler::Refill() {
  if (next_ < taken_.size()) return true;
  taken_.clear();
  next_ = 0;
  if (!more_queued_) return false;
  more_queued_ = stream_->Take(kTakeMax, &taken_);
  ReadUnlessFull();
  return !taken_.empty();
}

void WatchHandler::SendNext() {
  if (!Refill()) return;
  sending_ = true;
  Send(taken_[next_]);
}

void WatchHandler::Send(const watch::Delivery& delivery) {
  ReplyBuffer* reply = call_->reply();
  EncodeWatchHead(options_.identity, delivery, reply);
  SharedBytes events;
  if (delivery.events != nullptr) {
    const watch::EventBlock& block = *delivery.events;
    const std::size_t end = delivery.fragment
                                ? PieceEnd(block, event_, reply->bytes().size(), options_.fragment_bytes)
                                : block.count();
    std::size_t bytes = 0;
    for (; event_ < end; ++event_) bytes += block.sizes[event_];
    events = {delivery.events, std::string_view(block.wire).substr(byte_, bytes)};
    byte_ += bytes;
    if (event_ < block.count()) AppendFragmentMark(reply);
  }
  if (delivery.events == nullptr || event_ == delivery.events->count()) {
    event_ = 0;
    byte_ = 0;
    ++next_;
  }
  call_->Send(events, /*more=*/next_ < taken_.size() || more_queued_);
}

}  // namespace kvist::etcdv3
