// Protobuf's wire format, read and written by hand where a request or a reply is on the hot path: values
// stay views into the request's bytes, and replies are written straight into the buffer that is sent.
// Knows neither the store nor gRPC.

#ifndef KVIST_ETCDV3_WIRE_H_
#define KVIST_ETCDV3_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace kvist::etcdv3 {

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// The most bytes that a varint takes.
inline constexpr std::size_t kVarintBytesMax = 10;

// One field as it lies in a message. `bytes` holds the content of a kBytes field and views the message.
struct WireField {
  int number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

// Walks the fields of one message in order. Groups and fixed-size fields, which no message of the API has,
// are stepped over and reported with their type alone, so that a caller ignores them as unknown.
class WireReader {
 public:
  // `message` is borrowed.
  explicit WireReader(std::string_view message) : rest_(message) {}

  // Reads the next field. False at the end and at the first malformed byte; ok() tells which.
  [[nodiscard]] bool Next(WireField* field);

  // False once malformed bytes were met.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  friend bool ForEachPackedVarint(std::string_view packed, absl::FunctionRef<void(std::uint64_t)> visit);

  bool ReadVarint(std::uint64_t* value);
  bool ReadTag(int* number, WireType* type);
  bool ReadContent(WireField* field);
  bool Skip(std::size_t size);
  bool SkipGroup(int number);
  bool Fail();

  std::string_view rest_;
  bool ok_ = true;
};

// Calls `visit` for each number of a packed repeated field. False if malformed.
bool ForEachPackedVarint(std::string_view packed, absl::FunctionRef<void(std::uint64_t)> visit);

// The number of bytes that `value` takes as a varint.
[[nodiscard]] inline std::size_t VarintSize(std::uint64_t value) {
  // Bits in use (at least 1), divided by 7 and rounded up.
  const int bits = 64 - __builtin_clzll(value | 1);
  return static_cast<std::size_t>((bits + 6) / 7);
}

// The size of a kBytes field with a number below 16 that holds `size` bytes.
[[nodiscard]] inline std::size_t BytesFieldSize(std::size_t size) { return 1 + VarintSize(size) + size; }

// The size of a varint field with a number below 16; 0 for the value 0, which proto3 leaves out.
[[nodiscard]] inline std::size_t VarintFieldSize(std::uint64_t value) {
  return value == 0 ? 0 : 1 + VarintSize(value);
}

// Write at `out`, which has room, and return the end of what was written. Field numbers are below 16.
char* WriteVarint(std::uint64_t value, char* out);
char* WriteVarintField(int number, std::uint64_t value, char* out);  // nothing for 0
char* WriteBytesHeader(int number, std::size_t size, char* out);

// Append to `*out`. Field numbers are below 16.
void AppendVarintField(int number, std::uint64_t value, std::string* out);  // nothing for 0
void AppendBytesHeader(int number, std::size_t size, std::string* out);
void AppendBytesField(int number, std::string_view bytes, std::string* out);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_WIRE_H_
