// Reading and writing the wire bytes of mvccpb.KeyValue, whose fields the log keeps in the order key,
// create_revision, mod_revision, version, lease, value: what a keys-only reply wants is a prefix.

#ifndef KVIST_KV_KEY_VALUE_H_
#define KVIST_KV_KEY_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "kv/types.h"

namespace kvist::kv {

// Views into wire bytes; valid as long as those.
struct KeyValueView {
  std::string_view key;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  std::int64_t version = 0;
  LeaseId lease = 0;
  std::string_view value;
  std::size_t lease_offset = 0;  // where the lease field, or what follows it, starts in the bytes
  std::size_t value_offset = 0;  // where the value field starts; the size of the bytes if there is none
};

// Decodes bytes that EncodeKeyValue wrote. False if they are anything else.
[[nodiscard]] bool DecodeKeyValue(std::string_view bytes, KeyValueView* out);

// Decodes the key alone.
[[nodiscard]] bool DecodeKey(std::string_view bytes, std::string_view* key);

// Appends the wire bytes of `kv` to `*out`. Fields of value zero are left out, as proto3 has it.
void AppendKeyValue(const KeyValueView& kv, std::string* out);

// How many bytes AppendKeyValue appends.
[[nodiscard]] std::size_t KeyValueSize(const KeyValueView& kv);

// Appends `bytes` as a length-delimited field (wire type 2) with number `field`, which is below 16.
void AppendField(int field, std::string_view bytes, std::string* out);
// Appends the tag and length of such a field alone, for `size` bytes that the caller appends.
void AppendFieldHeader(int field, std::size_t size, std::string* out);

// Calls `visit` for each pair in RangeResult::kvs or DeleteRangeResult::prev_kvs. False if malformed.
bool ForEachKeyValue(std::string_view fields, absl::FunctionRef<void(const KeyValueView&)> visit);

}  // namespace kvist::kv

#endif  // KVIST_KV_KEY_VALUE_H_
