// KV.RangeStream: the answer to one Range in chunks, all of one revision.

#ifndef KVIST_ETCDV3_RANGE_STREAM_H_
#define KVIST_ETCDV3_RANGE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "etcdv3/identity.h"
#include "etcdv3/stream_call.h"
#include "kv/engine.h"

namespace kvist::etcdv3 {

// Chunks start small and grow or shrink to stay near `chunk_bytes`. They hold pairs alone; the last one
// also the header, `more`, and the count of the whole range. All pairs are of the revision that was asked
// for, or else was current at the first chunk; if compaction passes it the call ends with that error.
class RangeStreamHandler final : public StreamHandler {
 public:
  // `call` and `engine` are borrowed. Begins to read.
  RangeStreamHandler(StreamCall* call, kv::Engine* engine, const Identity& identity, std::size_t chunk_bytes)
      : call_(call), engine_(engine), identity_(identity), chunk_bytes_(chunk_bytes) {
    call_->Read();
  }

  void OnMessage(std::string_view message) override;
  void OnHalfClose() override;
  void OnSent() override;

 private:
  absl::Status Start(std::string_view message);
  void SendChunk();
  void Advance(const kv::RangeResult& result, std::string_view kvs);

  StreamCall* const call_;
  kv::Engine* const engine_;
  const Identity identity_;
  const std::size_t chunk_bytes_;

  std::string message_;   // what request_ views
  std::string next_key_;  // likewise
  kv::RangeRequest request_;
  std::int64_t left_ = 0;  // pairs still to be sent, by the limit
  std::int64_t chunk_keys_ = 10;
  kv::Revision header_revision_ = 0;  // 0 before the first chunk
  std::int64_t count_ = 0;
  bool done_ = false;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_RANGE_STREAM_H_
