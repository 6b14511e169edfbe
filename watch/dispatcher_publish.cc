// The half of the dispatcher that brings events to watchers: live and at the end of a catch-up round.

#include <utility>

#include "watch/dispatcher.h"

namespace kvist::watch {

void Dispatcher::Publish(const kv::CommittedBatch& batch, ReadyList* ready) {
  StartAt(batch.records.back().revision);
  if (in_round_) KeepForRound(batch);
  PublishRecords(&synced_, batch.records, ready);
}

// Offers each revision of `records` to the watchers in `*index`, and takes out of it who must catch up.
void Dispatcher::PublishRecords(WatcherIndex* index, const std::vector<kv::LogRecord>& records,
                                ReadyList* ready) {
  if (index->empty()) return;
  sets_.Start(&records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const kv::LogRecord& record = records[i];
    index->VisitWatchersOf(record.key, [&](Watcher* watcher) {
      if (!watcher->Wants(record)) return;
      if (watcher->wanted == EventSets::kEmpty) touched_.push_back(watcher);
      watcher->wanted = sets_.Extend(watcher->wanted, static_cast<std::uint32_t>(i));
    });
    const bool last_of_revision = i + 1 == records.size() || records[i + 1].revision != record.revision;
    if (last_of_revision && !touched_.empty()) {
      OfferTouched(index, record.revision, ready);
      sets_.Start(&records);
    }
  }
}

void Dispatcher::OfferTouched(WatcherIndex* index, kv::Revision revision, ReadyList* ready) {
  for (Watcher* watcher : touched_) {
    const std::shared_ptr<const EventBlock>& events =
        sets_.Block(std::exchange(watcher->wanted, EventSets::kEmpty), watcher->prev_kv);
    const bool readable = events != nullptr;
    if (readable && Deliver(watcher, events, revision, ready)) continue;
    watcher->next = revision;
    // A round's watcher leaves the round's index here, a synced one leaves synced_ as it moves.
    if (watcher->place == Place::kInRound) index->Remove(watcher);
    Move(watcher, readable ? Place::kParked : Place::kWaiting);
  }
  touched_.clear();
}

// False if the queue is full.
bool Dispatcher::Deliver(Watcher* watcher, const std::shared_ptr<const EventBlock>& events,
                         kv::Revision revision, ReadyList* ready) {
  if (watcher->stream->queue.Full()) return false;
  Delivery delivery;
  delivery.fragment = watcher->fragment;
  delivery.watch_id = watcher->id;
  delivery.revision = revision;
  delivery.events = events;
  Push(watcher->stream, std::move(delivery), ready);
  watcher->had_event = true;
  counters_.events += static_cast<std::int64_t>(events->count());
  return true;
}

void Dispatcher::KeepForRound(const kv::CommittedBatch& batch) {
  tail_records_ += batch.records.size();
  if (tail_records_ <= kTailRecordsMax) {
    tail_.push_back(batch);
  } else {
    tail_cut_ = true;
    tail_.clear();
  }
}

void Dispatcher::BeginRound(CatchUpRound* round, ReadyList* ready) {
  round->Start(published_);
  const kv::Revision compacted = engine_->CompactedRevision();
  auto next = waiting_.begin();
  for (std::size_t looked_at = 0; next != waiting_.end() && looked_at < kRoundCandidatesMax; ++looked_at) {
    Watcher* const watcher = *next++;
    if (watcher->next < compacted) {
      CancelCompacted(watcher, compacted, ready);
    } else if (watcher->stream->queue.Full()) {
      Move(watcher, Place::kParked);
    } else if (round->Takes(*watcher)) {
      Move(watcher, Place::kInRound);
      round->Add(watcher->shared_from_this());
    }
  }
  in_round_ = true;
  tail_cut_ = false;
  tail_records_ = 0;
}

// Who has seen all there was when the round began is offered what was published since, from the tail, and
// is then synced: that takes no reading under the lock.
void Dispatcher::EndRound(CatchUpRound* round, ReadyList* ready) {
  in_round_ = false;
  const bool all = round->read_to() == round->to() && !tail_cut_;
  for (CatchUpRound::Entry& entry : round->entries()) Accept(round, &entry, all, ready);
  for (const kv::CommittedBatch& batch : tail_) {
    if (all) PublishRecords(round->index(), batch.records, ready);
  }
  tail_.clear();
  for (const CatchUpRound::Entry& entry : round->entries()) {
    Watcher* const watcher = entry.watcher.get();
    if (watcher->place != Place::kInRound) continue;
    round->index()->Remove(watcher);
    Move(watcher, Place::kSynced);
  }
}

// Hands over what the round has for one watcher, which stays in the round if it has now seen all.
void Dispatcher::Accept(CatchUpRound* round, CatchUpRound::Entry* entry, bool all, ReadyList* ready) {
  Watcher* const watcher = entry->watcher.get();
  if (watcher->place == Place::kInRound && !entry->failed) {
    const kv::Revision header = all ? round->to() : published_;
    if (entry->events != nullptr && !Deliver(watcher, entry->events, header, ready)) {
      round->index()->Remove(watcher);
      return Move(watcher, Place::kParked);
    }
    watcher->next = std::max(watcher->next, round->read_to() + 1);
    if (all) return;
  }
  round->index()->Remove(watcher);
  if (watcher->place == Place::kInRound) Move(watcher, Place::kWaiting);
}

}  // namespace kvist::watch
