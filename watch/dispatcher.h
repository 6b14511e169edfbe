// The rules of watching: who exists, who is told what, who has to catch up. No lock and no thread of its
// own; watch/publisher.cc has both.
//
// Invariants, with `published` the newest revision that Publish has seen:
// 1. A watcher in kSynced has been offered every event up to `published`, but those below its `next`, and
//    its queue had room for all of them.
// 2. A watcher in kWaiting, kParked or kInRound has been offered every event below its `next`, which is
//    not above `published` + 1, and none from there on.
// 3. A stream with watchers in kParked has a queue without room, so that a Take is to come.
// 4. While a round is running, the tail has every batch published since it began, or is marked as cut.

#ifndef KVIST_WATCH_DISPATCHER_H_
#define KVIST_WATCH_DISPATCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kv/engine.h"
#include "kv/types.h"
#include "watch/catch_up.h"
#include "watch/delivery.h"
#include "watch/event_sets.h"
#include "watch/publisher.h"
#include "watch/watcher.h"
#include "watch/watcher_index.h"

namespace kvist::watch {

// Batches published while a round runs are kept for its end, up to so many records. Beyond that another
// round reads the log. A kept batch keeps its writes' memory, for the time of a round.
inline constexpr std::size_t kTailRecordsMax = 256;

// How many waiting watchers are looked at for a round, which bounds the time under the lock.
inline constexpr std::size_t kRoundCandidatesMax = 1024;

// Streams whose sinks are to be told that the queue is no longer empty, once no lock is held. Each has
// `notices_due` raised for it.
using ReadyList = absl::InlinedVector<StreamState*, 4>;

// Not thread-safe: its owner guards it and all StreamStates with one lock. It calls the engine's reads,
// which therefore must not wait for what waits for that lock.
class Dispatcher {
 public:
  explicit Dispatcher(kv::Engine* engine) : engine_(engine), sets_(engine) {}

  // Everything up to `revision` is taken as published.
  void StartAt(kv::Revision revision);

  // The requests of a stream: see WatchStream.
  void OpenStream() { ++counters_.streams; }
  void CloseStream(StreamState* stream);
  void Create(StreamState* stream, const WatchRequest& request, ReadyList* ready);
  void RefuseCreate(StreamState* stream, std::string reason, ReadyList* ready);
  void Cancel(StreamState* stream, WatchId id, ReadyList* ready);
  void RequestProgress(StreamState* stream, ReadyList* ready);
  void Tick(StreamState* stream, ReadyList* ready);

  bool Take(StreamState* stream, std::size_t max, std::vector<Delivery>* out);

  // Offers a batch to the synced watchers.
  void Publish(const kv::CommittedBatch& batch, ReadyList* ready);

  // A round of catch-up, one at a time: Begin, then CatchUpRound::Read, then End.
  [[nodiscard]] bool HasWaiting() const { return !waiting_.empty(); }
  void BeginRound(CatchUpRound* round, ReadyList* ready);
  void EndRound(CatchUpRound* round, ReadyList* ready);

  [[nodiscard]] const PublisherCounters& counters() const { return counters_; }

 private:
  // Creation.
  static WatchId PickId(StreamState* stream);
  void Enter(Watcher* watcher, kv::Revision current, ReadyList* ready);

  static void Push(StreamState* stream, Delivery&& delivery, ReadyList* ready);
  static void Push(StreamState* stream, DeliveryKind kind, WatchId id, kv::Revision revision,
                   ReadyList* ready);

  // From place to place.
  void Move(Watcher* watcher, Place to);
  void Leave(Watcher* watcher);
  // Ends a watch, once: it hears nothing more, and its id stays taken.
  void End(Watcher* watcher);
  // Ends it and gives the id back. The watcher may be gone afterwards.
  void Forget(Watcher* watcher);
  void CancelCompacted(Watcher* watcher, kv::Revision compacted, ReadyList* ready);

  // Publication.
  void PublishRecords(WatcherIndex* index, const std::vector<kv::LogRecord>& records, ReadyList* ready);
  void OfferTouched(WatcherIndex* index, kv::Revision revision, ReadyList* ready);
  [[nodiscard]] bool Deliver(Watcher* watcher, const std::shared_ptr<const EventBlock>& events,
                             kv::Revision revision, ReadyList* ready);
  void KeepForRound(const kv::CommittedBatch& batch);

  // The end of a round.
  void Accept(CatchUpRound* round, CatchUpRound::Entry* entry, bool all, ReadyList* ready);

  [[nodiscard]] bool MayHaveProgress(const Watcher& watcher) const;

  kv::Engine* const engine_;
  kv::Revision published_ = 0;
  PublisherCounters counters_;

  WatcherIndex synced_;
  WaitList waiting_;

  bool in_round_ = false;
  bool tail_cut_ = false;
  std::size_t tail_records_ = 0;
  std::vector<kv::CommittedBatch> tail_;

  // Of the revision being published.
  EventSets sets_;
  std::vector<Watcher*> touched_;  // those with `wanted` not empty
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_DISPATCHER_H_
