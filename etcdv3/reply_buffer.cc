// See reply_buffer.h.

#include "etcdv3/reply_buffer.h"

#include <cstring>
#include <utility>

#include "etcdv3/encode.h"
#include "etcdv3/wire.h"

namespace kvist::etcdv3 {

void ReplyBuffer::Clear() {
  body_.assign(kRoomBytes, '\0');
  begin_ = kRoomBytes;
}

void ReplyBuffer::Prepend(const char* bytes, std::size_t size) {
  begin_ -= size;
  std::memcpy(body_.data() + begin_, bytes, size);
}

void ReplyBuffer::SetHeader(const Identity& identity, kv::Revision revision) {
  char bytes[kRoomBytes];
  Prepend(bytes, WriteHeader(identity, revision, bytes));
}

void ReplyBuffer::Wrap(int number) {
  char bytes[1 + kVarintBytesMax];
  const char* end = WriteBytesHeader(number, this->bytes().size(), bytes);
  Prepend(bytes, static_cast<std::size_t>(end - bytes));
}

std::string ReplyBuffer::Release(std::size_t* offset) {
  *offset = begin_;
  std::string released = std::move(body_);
  body_ = std::string();
  Clear();
  return released;
}

}  // namespace kvist::etcdv3
