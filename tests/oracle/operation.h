// One step of a random sequence, independent of the server it will be played to.
//
// Revisions in a step are written relative to what the server will have reached by then, so that a
// sequence keeps its meaning when steps before it are left out: see FromCurrent and FromCompacted.

#ifndef KVIST_TESTS_ORACLE_OPERATION_H_
#define KVIST_TESTS_ORACLE_OPERATION_H_

#include <cstdint>
#include <string>
#include <variant>

#include "proto/etcdserverpb.pb.h"

namespace kvist::blackbox {

struct StreamedRange {
  etcdserverpb::RangeRequest request;
};

// On stream 0, watches start now or in the future; on the others, now or in the past. So the answer to a
// progress request, which no stream with a watch in the future gets, can serve as a barrier on those.
struct WatchStep {
  int stream = 0;
  etcdserverpb::WatchRequest request;
};
inline constexpr int kWatchStreams = 4;

using Operation = std::variant<etcdserverpb::RangeRequest, StreamedRange, etcdserverpb::PutRequest,
                               etcdserverpb::DeleteRangeRequest, etcdserverpb::TxnRequest,
                               etcdserverpb::CompactionRequest, WatchStep>;

// Stand for "the current revision + offset" and "the compacted revision + offset" in any int64 field.
// REQUIRES: -2^20 < offset < 2^20.
std::int64_t FromCurrent(std::int64_t offset);
std::int64_t FromCompacted(std::int64_t offset);

// What a server has reached.
struct Progress {
  std::int64_t current = 1;
  std::int64_t compacted = -1;  // never
};

// Replaces the stand-ins in `message` and all messages inside it.
void Resolve(const Progress& progress, google::protobuf::Message* message);

// The message inside `operation`.
google::protobuf::Message* Request(Operation* operation);

// One readable line; stand-ins show as "current-3" or "compacted+1".
std::string Describe(const Operation& operation);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_OPERATION_H_
