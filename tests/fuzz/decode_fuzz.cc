// Bytes from outside, by libFuzzer: whatever they are, decoding neither crashes nor reads beyond them, and
// takes exactly what protobuf's own parser takes, with the same content.
//
// The first byte of an input chooses the message; the rest is the message. Run it longer with
//   build/asan/tests/decode_fuzz -max_total_time=600 tests/fuzz/corpus

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "etcdv3/convert.h"
#include "etcdv3/validate.h"
#include "kv/key_value.h"
#include "proto/etcdserverpb.pb.h"

namespace kvist {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "decode_fuzz: %s\n", what);
  std::abort();
}

template <typename Message>
bool Parses(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void FuzzPut(std::string_view bytes) {
  etcdserverpb::PutRequest expected;
  kv::PutRequest decoded;
  const bool ok = etcdv3::DecodePut(bytes, &decoded);
  Require(ok == Parses(bytes, &expected), "Put: one parser refuses what the other takes");
  if (!ok) return;
  Require(decoded.key == expected.key() && decoded.value == expected.value() &&
              decoded.lease == expected.lease() && decoded.prev_kv == expected.prev_kv() &&
              decoded.ignore_value == expected.ignore_value() &&
              decoded.ignore_lease == expected.ignore_lease(),
          "Put: another content");
}

void FuzzRange(std::string_view bytes) {
  etcdserverpb::RangeRequest expected;
  kv::RangeRequest decoded;
  const bool ok = etcdv3::DecodeRange(bytes, &decoded);
  Require(ok == Parses(bytes, &expected), "Range: one parser refuses what the other takes");
  if (!ok) return;
  Require(decoded.key == expected.key() && decoded.range_end == expected.range_end() &&
              decoded.limit == expected.limit() && decoded.revision == expected.revision() &&
              decoded.keys_only == expected.keys_only() && decoded.count_only == expected.count_only() &&
              decoded.min_mod_revision == expected.min_mod_revision() &&
              decoded.max_create_revision == expected.max_create_revision(),
          "Range: another content");
}

void FuzzTxn(std::string_view bytes) {
  etcdserverpb::TxnRequest expected;
  kv::TxnRequest decoded;
  bool too_deep = false;
  const bool ok = etcdv3::DecodeTxn(bytes, &decoded, &too_deep);
  // Protobuf's own bound on nesting is another one.
  if (ok && Parses(bytes, &expected)) {
    Require(decoded.compare.size() == static_cast<std::size_t>(expected.compare_size()) &&
                decoded.success.size() == static_cast<std::size_t>(expected.success_size()) &&
                decoded.failure.size() == static_cast<std::size_t>(expected.failure_size()),
            "Txn: another content");
  }
  if (ok) (void)etcdv3::CheckTxn(decoded, 128);
}

void Fuzz(std::uint8_t choice, std::string_view bytes) {
  kv::DeleteRangeRequest delete_range;
  kv::CompactRequest compact;
  etcdv3::WatchCommand watch;
  kv::KeyValueView pair;
  switch (choice % 7) {
    case 0:
      return FuzzPut(bytes);
    case 1:
      return FuzzRange(bytes);
    case 2:
      return FuzzTxn(bytes);
    case 3:
      (void)etcdv3::DecodeDeleteRange(bytes, &delete_range);
      return;
    case 4:
      (void)etcdv3::DecodeCompact(bytes, &compact);
      return;
    case 5:
      (void)etcdv3::DecodeWatch(bytes, &watch);
      return;
    default:
      (void)kv::DecodeKeyValue(bytes, &pair);
      return;
  }
}

}  // namespace
}  // namespace kvist

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) kvist::Fuzz(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
