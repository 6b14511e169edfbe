#include "kv/key_value.h"

#include <array>
#include <bit>

namespace kvist::kv {
namespace {

// The tag bytes of mvccpb.KeyValue's fields: number << 3 | wire type.
constexpr char kKeyTag = 0x0a;
constexpr char kCreateRevisionTag = 0x10;
constexpr char kModRevisionTag = 0x18;
constexpr char kVersionTag = 0x20;
constexpr char kValueTag = 0x2a;
constexpr char kLeaseTag = 0x30;

constexpr std::size_t kVarintBytesMax = 10;

char* WriteVarint(std::uint64_t value, char* out) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

std::size_t VarintSize(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Reads bytes front to back; a read past the end or a malformed varint fails and stays failed.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool AtEnd() const { return position_ == bytes_.size(); }
  [[nodiscard]] std::size_t position() const { return position_; }

  // Consumes `tag` if it is the next byte.
  bool Take(char tag) {
    if (failed_ || AtEnd() || bytes_[position_] != tag) return false;
    ++position_;
    return true;
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !AtEnd(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[position_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  std::string_view Bytes() {
    const std::uint64_t size = Varint();
    if (failed_ || size > bytes_.size() - position_) {
      failed_ = true;
      return {};
    }
    const std::string_view bytes = bytes_.substr(position_, size);
    position_ += size;
    return bytes;
  }

 private:
  const std::string_view bytes_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace

bool DecodeKeyValue(std::string_view bytes, KeyValueView* out) {
  Reader reader(bytes);
  *out = KeyValueView();
  if (reader.Take(kKeyTag)) out->key = reader.Bytes();
  if (reader.Take(kCreateRevisionTag)) out->create_revision = static_cast<Revision>(reader.Varint());
  if (reader.Take(kModRevisionTag)) out->mod_revision = static_cast<Revision>(reader.Varint());
  if (reader.Take(kVersionTag)) out->version = static_cast<std::int64_t>(reader.Varint());
  out->lease_offset = reader.position();
  if (reader.Take(kLeaseTag)) out->lease = static_cast<LeaseId>(reader.Varint());
  out->value_offset = reader.position();
  if (reader.Take(kValueTag)) out->value = reader.Bytes();
  return !reader.failed() && reader.AtEnd();
}

bool DecodeKey(std::string_view bytes, std::string_view* key) {
  Reader reader(bytes);
  if (!reader.Take(kKeyTag)) return false;
  *key = reader.Bytes();
  return !reader.failed();
}

void AppendKeyValue(const KeyValueView& kv, std::string* out) {
  if (!kv.key.empty()) AppendField(kKeyTag >> 3, kv.key, out);
  std::array<char, 4 * (1 + kVarintBytesMax)> numbers;
  char* end = numbers.data();
  const auto add = [&end](char tag, std::int64_t value) {
    if (value == 0) return;
    *end++ = tag;
    end = WriteVarint(static_cast<std::uint64_t>(value), end);
  };
  add(kCreateRevisionTag, kv.create_revision);
  add(kModRevisionTag, kv.mod_revision);
  add(kVersionTag, kv.version);
  add(kLeaseTag, kv.lease);
  out->append(numbers.data(), end);
  if (!kv.value.empty()) AppendField(kValueTag >> 3, kv.value, out);
}

std::size_t KeyValueSize(const KeyValueView& kv) {
  const auto bytes_size = [](std::string_view bytes) {
    return bytes.empty() ? 0 : 1 + VarintSize(bytes.size()) + bytes.size();
  };
  const auto number_size = [](std::int64_t value) {
    return value == 0 ? 0 : 1 + VarintSize(static_cast<std::uint64_t>(value));
  };
  return bytes_size(kv.key) + number_size(kv.create_revision) + number_size(kv.mod_revision) +
         number_size(kv.version) + number_size(kv.lease) + bytes_size(kv.value);
}

void AppendFieldHeader(int field, std::size_t size, std::string* out) {
  std::array<char, 1 + kVarintBytesMax> header;
  header[0] = static_cast<char>(field << 3 | 2);
  out->append(header.data(), WriteVarint(size, header.data() + 1));
}

void AppendField(int field, std::string_view bytes, std::string* out) {
  AppendFieldHeader(field, bytes.size(), out);
  out->append(bytes);
}

bool ForEachKeyValue(std::string_view fields, absl::FunctionRef<void(const KeyValueView&)> visit) {
  Reader reader(fields);
  while (!reader.AtEnd()) {
    constexpr char kRangeTag = 0x12;
    constexpr char kDeleteRangeTag = 0x1a;
    if (!reader.Take(kRangeTag) && !reader.Take(kDeleteRangeTag)) return false;
    const std::string_view bytes = reader.Bytes();
    KeyValueView kv;
    if (reader.failed() || !DecodeKeyValue(bytes, &kv)) return false;
    visit(kv);
  }
  return true;
}

}  // namespace kvist::kv
