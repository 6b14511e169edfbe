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
#include "watch/delivery_queue.h"
#include "watch/interval_tree.h"

namespace kvist::watch {

struct StreamState;
struct Watcher;

// Watchers that share a key or a range.
using WatcherGroup = absl::InlinedVector<Watcher*, 1>;
using RangeNode = IntervalTree<WatcherGroup>::Node;

// Watchers waiting for something, the longest-waiting first.
using WaitList = std::list<Watcher*>;

// Where a watcher is. It moves:
//   kNew -> kSynced | kWaiting
//   kSynced -> kParked             its queue was full when an event came
//   kWaiting -> kInRound           catch-up took it
//   kWaiting -> kParked            catch-up would take it, but its queue is full
//   kParked -> kWaiting            its queue has room again
//   kInRound -> kSynced | kWaiting | kParked
//   any -> kGone                   canceled, compacted, or its stream is gone
//
// One that is gone by compaction, which its stream was told, is kept nevertheless, as in etcd: its id stays
// taken, and its stream without progress, until the client cancels it too. Clients do that by themselves.
enum class Place : std::uint8_t { kNew, kSynced, kWaiting, kParked, kInRound, kGone };

// Owned by its stream, and by a round of catch-up that it takes part in. What delivering an event needs is
// together at the front.
struct Watcher : std::enable_shared_from_this<Watcher> {
  StreamState* stream = nullptr;  // constant, as are the next lines
  WatchId id = 0;
  bool no_put = false;
  bool no_delete = false;
  bool prev_kv = false;
  bool fragment = false;
  bool progress_notify = false;

  bool had_event = false;  // queued since the last Tick
  Place place = Place::kNew;

  // What it wants of the records being matched: an EventSets::Set. This, `node` and `slot` belong to the
  // catch-up thread in kInRound, which uses them without a lock.
  std::uint32_t wanted = 0;

  // The first revision not yet offered to this watcher. In kSynced: everything published from `next` on
  // was offered as it came, and `next` stays.
  kv::Revision next = 0;

  // Its place in a WatcherIndex.
  std::size_t slot = 0;       // in the WatcherGroup
  RangeNode* node = nullptr;  // null for a single key

  // Its place in the list of kWaiting or kParked.
  WaitList::iterator position;

  // Constant.
  kv::Revision start = 0;  // as asked for; 0 if not
  std::string key;
  std::string range_end;  // as in WatchRequest

  [[nodiscard]] bool Wants(const kv::LogRecord& record) const {
    return record.revision >= next && !(record.tombstone ? no_delete : no_put);
  }
};

// What the publisher keeps for a stream.
struct StreamState {
  explicit StreamState(StreamSink* s) : sink(s) {}

  StreamSink* const sink;
  int notices_due = 0;  // how often the sink is yet to be told
  DeliveryQueue queue;
  WaitList parked;      // kParked, until the queue has room again
  WatchId next_id = 0;  // where the search for a free id starts
  absl::flat_hash_map<WatchId, std::shared_ptr<Watcher>> watchers;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_WATCHER_H_
