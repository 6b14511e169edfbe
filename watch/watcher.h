// The state of one watch and of one stream of watches, as plain data. Who changes it: watch/dispatcher.h.

#ifndef KVIST_WATCH_WATCHER_H_
#define KVIST_WATCH_WATCHER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "kv/types.h"
#include "watch/delivery.h"
#include "watch/interval_tree.h"

namespace kvist::watch {

class DeliveryQueue;
struct StreamState;
struct Watcher;

// Watchers that share a key or a range.
using WatcherGroup = absl::InlinedVector<Watcher*, 1>;
using RangeNode = IntervalTree<WatcherGroup>::Node;

// Watchers waiting for something, the longest-waiting first.
using WaitList = std::list<Watcher*>;

// Where a watcher is. It moves:
//   created -> kSynced | kWaiting
//   kSynced -> kParked             its queue was full when an event came
//   kWaiting -> kInRound           catch-up took it
//   kWaiting -> kParked            catch-up would take it, but its queue is full
//   kParked -> kWaiting            its queue has room again
//   kInRound -> kSynced | kWaiting | kParked
//   any -> kGone                   canceled, compacted, or its stream is gone
enum class Place : std::uint8_t { kSynced, kWaiting, kParked, kInRound, kGone };

// Owned by its stream, and by a round of catch-up that it takes part in.
struct Watcher : std::enable_shared_from_this<Watcher> {
  // Constant once created.
  StreamState* stream = nullptr;
  WatchId id = 0;
  std::string key;
  std::string range_end;   // as in WatchRequest
  kv::Revision start = 0;  // as asked for; 0 if not
  bool progress_notify = false;
  bool prev_kv = false;
  bool fragment = false;
  bool no_put = false;
  bool no_delete = false;

  Place place = Place::kSynced;
  bool had_event = false;  // queued since the last Tick

  // The first revision not yet offered to this watcher. In kSynced: everything published from `next` on
  // was offered as it came, and `next` stays.
  kv::Revision next = 0;

  // Its place in the list of kWaiting or kParked.
  WaitList::iterator position;

  // Its place in a WatcherIndex, and what it wants of the records being matched: see EventSets. In
  // kInRound these belong to the catch-up thread, which uses them without a lock.
  RangeNode* node = nullptr;  // null for a single key
  std::size_t slot = 0;       // in the WatcherGroup
  std::uint32_t wanted = 0;   // EventSets::Set

  [[nodiscard]] bool Wants(const kv::LogRecord& record) const {
    return record.revision >= next && !(record.tombstone ? no_delete : no_put);
  }
};

// What the dispatcher keeps for a stream.
struct StreamState {
  DeliveryQueue* queue = nullptr;
  absl::flat_hash_map<WatchId, std::shared_ptr<Watcher>> watchers;
  WatchId next_id = 0;  // where the search for a free id starts
  WaitList parked;      // kParked, until the queue has room
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_WATCHER_H_
