// Events as they go out: encoded once, shared by every watcher that wants the same ones.

#ifndef KVIST_WATCH_EVENT_BLOCK_H_
#define KVIST_WATCH_EVENT_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/container/inlined_vector.h"

namespace kvist::watch {

// One or more events in the order of their revisions and, within one, of their sub-revisions. Immutable
// once shared; may be read from any thread.
struct EventBlock {
  // Each event as field 11 of etcdserverpb.WatchResponse: tag, length, mvccpb.Event{type = 1, kv = 2,
  // prev_kv = 3}. Append it to the other fields of a reply as it is. Lives as long as the block.
  std::string_view wire;

  // The bytes of each event in `wire`, tag and length included, in order: where a reply may be cut into
  // fragments. Their sum is wire.size().
  absl::InlinedVector<std::uint32_t, 2> sizes;

  [[nodiscard]] std::size_t count() const { return sizes.size(); }
};

// A block with room for its events, which are to be written to `wire`, all of it, before it is shared.
struct NewEventBlock {
  std::shared_ptr<EventBlock> block;
  char* wire = nullptr;  // the memory of block->wire
};
NewEventBlock MakeEventBlock(std::size_t wire_bytes);

}  // namespace kvist::watch

#endif  // KVIST_WATCH_EVENT_BLOCK_H_
