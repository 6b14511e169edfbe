// See wire.h.

#include "etcdv3/wire.h"

namespace kvist::etcdv3 {
namespace {

constexpr int kGroupDepthMax = 100;
constexpr std::size_t kTagBytesMax = 5;

char* WriteTag(int number, WireType type, char* out) {
  *out = static_cast<char>((number << 3) | static_cast<int>(type));
  return out + 1;
}

}  // namespace

bool WireReader::Fail() {
  ok_ = false;
  rest_ = {};
  return false;
}

bool WireReader::ReadVarint(std::uint64_t* value) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < rest_.size() && i < kVarintBytesMax; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    result |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return Fail();
}

bool WireReader::ReadTag(int* number, WireType* type) {
  const std::size_t before = rest_.size();
  std::uint64_t varint = 0;
  if (!ReadVarint(&varint) || before - rest_.size() > kTagBytesMax) return Fail();
  const auto tag = static_cast<std::uint32_t>(varint);  // protobuf's parser drops what is above, too
  if (tag >> 3 == 0 || (tag & 7) > 5) return Fail();
  *number = static_cast<int>(tag >> 3);
  *type = static_cast<WireType>(tag & 7);
  return true;
}

bool WireReader::Skip(std::size_t size) {
  if (rest_.size() < size) return Fail();
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::ReadContent(WireField* field) {
  switch (field->type) {
    case WireType::kVarint:
      return ReadVarint(&field->varint);
    case WireType::kFixed64:
      return Skip(8);
    case WireType::kFixed32:
      return Skip(4);
    case WireType::kBytes: {
      std::uint64_t size = 0;
      if (!ReadVarint(&size)) return false;
      if (size > rest_.size()) return Fail();
      field->bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    case WireType::kStartGroup:
    case WireType::kEndGroup:
      return Fail();
  }
  return Fail();
}

bool WireReader::SkipGroup(int number) {
  int open[kGroupDepthMax];
  int depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    WireField field;
    if (!ReadTag(&field.number, &field.type)) return false;
    if (field.type == WireType::kEndGroup) {
      if (field.number != open[--depth]) return Fail();
    } else if (field.type == WireType::kStartGroup) {
      if (depth == kGroupDepthMax) return Fail();
      open[depth++] = field.number;
    } else if (!ReadContent(&field)) {
      return false;
    }
  }
  return true;
}

bool WireReader::Next(WireField* field) {
  if (rest_.empty()) return false;
  if (!ReadTag(&field->number, &field->type)) return false;
  if (field->type == WireType::kStartGroup) return SkipGroup(field->number);
  return ReadContent(field);
}

bool ForEachPackedVarint(std::string_view packed, absl::FunctionRef<void(std::uint64_t)> visit) {
  WireReader reader(packed);
  while (!reader.rest_.empty()) {
    std::uint64_t value = 0;
    if (!reader.ReadVarint(&value)) return false;
    visit(value);
  }
  return true;
}

char* WriteVarint(std::uint64_t value, char* out) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

char* WriteVarintField(int number, std::uint64_t value, char* out) {
  return value == 0 ? out : WriteVarint(value, WriteTag(number, WireType::kVarint, out));
}

char* WriteBytesHeader(int number, std::size_t size, char* out) {
  return WriteVarint(size, WriteTag(number, WireType::kBytes, out));
}

void AppendVarintField(int number, std::uint64_t value, std::string* out) {
  char bytes[1 + kVarintBytesMax];
  out->append(bytes, static_cast<std::size_t>(WriteVarintField(number, value, bytes) - bytes));
}

void AppendBytesHeader(int number, std::size_t size, std::string* out) {
  char bytes[1 + kVarintBytesMax];
  out->append(bytes, static_cast<std::size_t>(WriteBytesHeader(number, size, bytes) - bytes));
}

void AppendBytesField(int number, std::string_view bytes, std::string* out) {
  AppendBytesHeader(number, bytes.size(), out);
  out->append(bytes);
}

}  // namespace kvist::etcdv3
