// What a client asks of a watch stream, and what the stream has for the client.

#ifndef KVIST_WATCH_DELIVERY_H_
#define KVIST_WATCH_DELIVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kv/types.h"
#include "watch/event_block.h"

namespace kvist::watch {

// The name of a watch among those of its stream.
using WatchId = std::int64_t;

// The watch id of replies that belong to no watch: a failed creation, a requested progress.
inline constexpr WatchId kNoWatch = -1;

// In `WatchRequest::watch_id`: the stream picks one, counting from 0 and skipping those in use.
inline constexpr WatchId kPickWatchId = 0;

// A watch to be created. The views are borrowed until Create returns.
struct WatchRequest {
  // The keys, by the convention of kv/types.h, but that an empty key stands for one zero byte.
  std::string_view key = {};
  std::string_view range_end = {};
  kv::Revision start_revision = 0;  // the first revision of interest; 0: the next one
  WatchId watch_id = kPickWatchId;
  bool progress_notify = false;  // wants what WatchStream::Tick sends
  bool prev_kv = false;          // wants the pair as it was before each event
  bool fragment = false;         // handed back in each Delivery of events
  bool no_put = false;           // filters
  bool no_delete = false;
};

// One reply to the client. Six kinds, each with these fields of etcdserverpb.WatchResponse:
//   kCreated       watch_id, header.revision, created
//   kCreateFailed  watch_id -1, header.revision, created, canceled, cancel_reason
//   kEvents        watch_id, header.revision, events; in fragments if they are too large and `fragment` is
//   set kProgress      watch_id (-1 if requested, else of the one watch), header.revision kCanceled watch_id,
//   header.revision, canceled: as the client asked kCompacted     watch_id, header.revision 0, canceled,
//   compact_revision
enum class DeliveryKind : std::uint8_t { kCreated, kCreateFailed, kEvents, kProgress, kCanceled, kCompacted };

// The rare fields of a reply.
struct DeliveryExtras {
  std::string cancel_reason;          // kCreateFailed
  kv::Revision compact_revision = 0;  // kCompacted
};

struct Delivery {
  DeliveryKind kind = DeliveryKind::kEvents;
  bool fragment = false;  // WatchRequest::fragment of the watch, in kEvents
  WatchId watch_id = kNoWatch;
  kv::Revision revision = 0;                     // header.revision
  std::shared_ptr<const EventBlock> events;      // not null in kEvents, null in all others
  std::unique_ptr<const DeliveryExtras> extras;  // not null in kCreateFailed and kCompacted only
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_DELIVERY_H_
