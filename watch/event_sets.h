// Which records go to whom, and their encoding: watchers that want the same records of a run share one
// block, whatever made them want it.

#ifndef KVIST_WATCH_EVENT_SETS_H_
#define KVIST_WATCH_EVENT_SETS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kv/engine.h"
#include "kv/types.h"
#include "watch/event_block.h"

namespace kvist::watch {

// Sets of records out of one run of them, each record a step in a tree of sets: the set {2, 5, 6} is the
// child 6 of the child 5 of the child 2 of the empty set. As records come in order, a set has at most one
// child of interest at a time, so that a step costs no search. Two watchers with the same set number have
// the same records.
//
// Used by one thread at a time.
class EventSets {
 public:
  using Set = std::uint32_t;
  static constexpr Set kEmpty = 0;

  // Reads previous values from `engine`.
  explicit EventSets(kv::Engine* engine) : engine_(engine) { Start(nullptr); }

  // Forgets all sets and starts on `records`, which outlive their use here, and may grow meanwhile.
  void Start(const std::vector<kv::LogRecord>* records);

  // The set `set` and record number `record`: for a watcher that leaves the one for the other. No record
  // of a lower number may be added after.
  Set Extend(Set set, std::uint32_t record) {
    Set next = nodes_[set].child;
    if (next == kEmpty || nodes_[set].child_record != record) next = AddChild(set, record);
    if (nodes_[next].watchers++ == 0) bytes_ += nodes_[next].bytes;
    if (set != kEmpty && --nodes_[set].watchers == 0) bytes_ -= nodes_[set].bytes;
    return next;
  }

  // Sets made since Start, and the bytes of all that a watcher is at, without previous values.
  [[nodiscard]] std::size_t count() const { return nodes_.size() - 1; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // The events of a set that is not empty, made at the first call. Null if `prev_kv` is wanted and the
  // store failed to read one; a previous value that is compacted is left out. The reference is valid until
  // the next Start or Extend.
  const std::shared_ptr<const EventBlock>& Block(Set set, bool prev_kv) {
    Node& node = nodes_[set];
    const std::shared_ptr<const EventBlock>& block = prev_kv ? node.with_prev : node.plain;
    if (block == nullptr) MakeBlock(set, prev_kv);
    return block;
  }

 private:
  struct Node {
    Set parent = kEmpty;
    std::uint32_t record = 0;        // what this set has and its parent has not
    std::uint32_t child_record = 0;  // of the newest child; valid if `child` is not kEmpty
    Set child = kEmpty;
    std::uint32_t watchers = 0;  // that are at this set
    std::uint32_t count = 0;     // records in it
    std::size_t bytes = 0;       // of those
    std::shared_ptr<const EventBlock> plain;
    std::shared_ptr<const EventBlock> with_prev;
  };

  // The value before a record, as field 3 of mvccpb.Event; empty if there was none.
  struct Previous {
    bool read = false;
    std::string field;
  };

  Set AddChild(Set set, std::uint32_t record);

  using Numbers = absl::InlinedVector<std::uint32_t, 16>;

  [[nodiscard]] Numbers RecordsOf(Set set) const;
  void MakeBlock(Set set, bool prev_kv);
  bool ReadPrevious(std::uint32_t record);
  [[nodiscard]] std::shared_ptr<const EventBlock> Encode(const Numbers& records, bool prev_kv) const;

  kv::Engine* const engine_;
  const std::vector<kv::LogRecord>* records_ = nullptr;
  std::vector<Node> nodes_;  // [kEmpty] is the root
  std::size_t bytes_ = 0;
  std::vector<Previous> previous_;  // by record number; grows when asked for
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_EVENT_SETS_H_
