// Events as they go out: encoded once, shared by every watcher that wants the same ones.

#ifndef KVIST_WATCH_EVENT_BLOCK_H_
#define KVIST_WATCH_EVENT_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"

namespace kvist::watch {

// One or more events in the order of their revisions and, within one, of their sub-revisions. Immutable
// once shared; may be read from any thread.
struct EventBlock {
  // Each event as field 11 of etcdserverpb.WatchResponse: tag, length, mvccpb.Event{type = 1, kv = 2,
  // prev_kv = 3}. Append it to the other fields of a reply as it is.
  std::string wire;

  // The bytes of each event in `wire`, tag and length included, in order: where a reply may be cut into
  // fragments. Their sum is wire.size().
  absl::InlinedVector<std::uint32_t, 2> sizes;

  [[nodiscard]] std::size_t count() const { return sizes.size(); }
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_EVENT_BLOCK_H_
