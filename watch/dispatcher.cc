#include "watch/dispatcher.h"

#include <algorithm>
#include <utility>

namespace kvist::watch {
namespace {

constexpr char kStartCompacted[] = "etcdserver: mvcc: required revision has been compacted";
constexpr char kRangeEmpty[] = "mvcc: watcher range is empty";
constexpr char kDuplicateId[] = "mvcc: duplicate watch ID provided on the WatchStream";

constexpr std::string_view kZeroByte("\0", 1);

bool IsEmptyRange(std::string_view key, std::string_view range_end) {
  return !range_end.empty() && range_end != kZeroByte && key >= range_end;
}

std::shared_ptr<Watcher> MakeWatcher(StreamState* stream, WatchId id, const WatchRequest& request) {
  auto watcher = std::make_shared<Watcher>();
  watcher->stream = stream;
  watcher->id = id;
  watcher->key = request.key.empty() ? kZeroByte : request.key;
  watcher->range_end = request.range_end;
  watcher->start = request.start_revision;
  watcher->progress_notify = request.progress_notify;
  watcher->prev_kv = request.prev_kv;
  watcher->fragment = request.fragment;
  watcher->no_put = request.no_put;
  watcher->no_delete = request.no_delete;
  return watcher;
}

bool IsCatchingUp(Place place) {
  return place == Place::kWaiting || place == Place::kParked || place == Place::kInRound;
}

}  // namespace

void Dispatcher::StartAt(kv::Revision revision) { published_ = std::max(published_, revision); }

void Dispatcher::CloseStream(StreamState* stream) {
  while (!stream->watchers.empty()) Forget(stream->watchers.begin()->second.get());
  --counters_.streams;
}

// Creation.

void Dispatcher::Create(StreamState* stream, const WatchRequest& request, ReadyList* ready) {
  const std::string_view key = request.key.empty() ? kZeroByte : request.key;
  if (request.start_revision < 0) return RefuseCreate(stream, kStartCompacted, ready);
  if (IsEmptyRange(key, request.range_end)) return RefuseCreate(stream, kRangeEmpty, ready);
  const WatchId id = request.watch_id == kPickWatchId ? PickId(stream) : request.watch_id;
  const auto [slot, is_new] = stream->watchers.try_emplace(id);
  if (!is_new) return RefuseCreate(stream, kDuplicateId, ready);

  slot->second = MakeWatcher(stream, id, request);
  ++counters_.watchers;
  const kv::Revision current = engine_->CurrentRevision();
  Push(stream, DeliveryKind::kCreated, id, current, ready);
  Enter(slot->second.get(), current, ready);
}

void Dispatcher::RefuseCreate(StreamState* stream, std::string reason, ReadyList* ready) {
  Delivery delivery;
  delivery.kind = DeliveryKind::kCreateFailed;
  delivery.revision = engine_->CurrentRevision();
  delivery.extras = std::make_unique<DeliveryExtras>(DeliveryExtras{std::move(reason), 0});
  Push(stream, std::move(delivery), ready);
}

WatchId Dispatcher::PickId(StreamState* stream) {
  while (stream->watchers.contains(stream->next_id)) ++stream->next_id;
  return stream->next_id++;
}

// A commit is current shortly before it is published. Whoever starts at the next revision must not see
// such a one, and whoever starts at it gets it when it is published.
void Dispatcher::Enter(Watcher* watcher, kv::Revision current, ReadyList* ready) {
  watcher->next = watcher->start == 0 ? current + 1 : watcher->start;
  if (watcher->next > published_) return Move(watcher, Place::kSynced);
  const kv::Revision compacted = engine_->CompactedRevision();
  if (watcher->next < compacted) return CancelCompacted(watcher, compacted, ready);
  Move(watcher, Place::kWaiting);
}

// Other requests.

void Dispatcher::Cancel(StreamState* stream, WatchId id, ReadyList* ready) {
  const auto found = stream->watchers.find(id);
  if (found == stream->watchers.end()) return;
  Forget(found->second.get());
  Push(stream, DeliveryKind::kCanceled, id, engine_->CurrentRevision(), ready);
}

bool Dispatcher::MayHaveProgress(const Watcher& watcher) const {
  return watcher.place == Place::kSynced && watcher.start <= published_;
}

void Dispatcher::RequestProgress(StreamState* stream, ReadyList* ready) {
  if (stream->watchers.empty() || stream->queue.Full()) return;
  for (const auto& [id, watcher] : stream->watchers) {
    if (!MayHaveProgress(*watcher)) return;
  }
  Push(stream, DeliveryKind::kProgress, kNoWatch, published_, ready);
}

void Dispatcher::Tick(StreamState* stream, ReadyList* ready) {
  for (const auto& [id, watcher] : stream->watchers) {
    const bool quiet = !std::exchange(watcher->had_event, false);
    if (!watcher->progress_notify || !quiet || !MayHaveProgress(*watcher)) continue;
    if (!stream->queue.Full()) Push(stream, DeliveryKind::kProgress, id, published_, ready);
  }
}

bool Dispatcher::Take(StreamState* stream, std::size_t max, std::vector<Delivery>* out) {
  stream->queue.Take(max, out);
  if (!stream->parked.empty() && stream->queue.HasRoomAgain()) {
    for (Watcher* watcher : stream->parked) watcher->place = Place::kWaiting;
    waiting_.splice(waiting_.end(), stream->parked);
  }
  return !stream->queue.empty();
}

void Dispatcher::Push(StreamState* stream, Delivery&& delivery, ReadyList* ready) {
  if (stream->queue.empty()) {
    ++stream->notices_due;
    ready->push_back(stream);
  }
  stream->queue.Push(std::move(delivery));
}

void Dispatcher::Push(StreamState* stream, DeliveryKind kind, WatchId id, kv::Revision revision,
                      ReadyList* ready) {
  Delivery delivery;
  delivery.kind = kind;
  delivery.watch_id = id;
  delivery.revision = revision;
  Push(stream, std::move(delivery), ready);
}

// From place to place.

void Dispatcher::Move(Watcher* watcher, Place to) {
  Leave(watcher);
  counters_.slow_watchers +=
      static_cast<int>(IsCatchingUp(to)) - static_cast<int>(IsCatchingUp(watcher->place));
  watcher->place = to;
  switch (to) {
    case Place::kSynced:
      synced_.Add(watcher);
      break;
    case Place::kWaiting:
      watcher->position = waiting_.insert(waiting_.end(), watcher);
      break;
    case Place::kParked:
      watcher->position = watcher->stream->parked.insert(watcher->stream->parked.end(), watcher);
      break;
    case Place::kNew:
    case Place::kInRound:
    case Place::kGone:
      break;
  }
}

// A round's index is the round's business.
void Dispatcher::Leave(Watcher* watcher) {
  switch (watcher->place) {
    case Place::kSynced:
      synced_.Remove(watcher);
      break;
    case Place::kWaiting:
      waiting_.erase(watcher->position);
      break;
    case Place::kParked:
      watcher->stream->parked.erase(watcher->position);
      break;
    case Place::kNew:
    case Place::kInRound:
    case Place::kGone:
      break;
  }
}

void Dispatcher::End(Watcher* watcher) {
  if (watcher->place == Place::kGone) return;
  Move(watcher, Place::kGone);
  --counters_.watchers;
}

void Dispatcher::Forget(Watcher* watcher) {
  End(watcher);
  watcher->stream->watchers.erase(watcher->id);
}

void Dispatcher::CancelCompacted(Watcher* watcher, kv::Revision compacted, ReadyList* ready) {
  Delivery delivery;
  delivery.kind = DeliveryKind::kCompacted;
  delivery.watch_id = watcher->id;
  delivery.extras = std::make_unique<DeliveryExtras>(DeliveryExtras{{}, compacted});
  Push(watcher->stream, std::move(delivery), ready);
  End(watcher);
}

}  // namespace kvist::watch
