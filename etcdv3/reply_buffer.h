// The bytes of one reply on their way out. The header's revision is known last but goes first, so the
// buffer leaves room in front: the store appends the pairs behind the room, and the header is written
// against them once it is known. Nothing is moved.

#ifndef KVIST_ETCDV3_REPLY_BUFFER_H_
#define KVIST_ETCDV3_REPLY_BUFFER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "etcdv3/identity.h"
#include "kv/types.h"

namespace kvist::etcdv3 {

// Used by one thread at a time, and again and again: Clear keeps what has been allocated.
class ReplyBuffer {
 public:
  // Takes the header, which is at most four varints with tags within tag and length, and one Wrap.
  static constexpr std::size_t kRoomBytes = 64;

  ReplyBuffer() { Clear(); }

  // Makes the reply empty.
  void Clear();

  // The room and, behind it, the fields of the reply: append to it. May be moved out and back, e.g.
  // through RangeResult::kvs, as long as the room stays.
  [[nodiscard]] std::string& body() { return body_; }

  // Writes `header = 1` in front of the fields. Once.
  void SetHeader(const Identity& identity, kv::Revision revision);

  // Makes the reply so far the field `number` (below 16) of another message. Once.
  void Wrap(int number);

  // The reply.
  [[nodiscard]] std::string_view bytes() const { return std::string_view(body_).substr(begin_); }

  // Gives the storage of a large reply away: bytes() begins at `*offset` of it. The buffer is then empty.
  [[nodiscard]] std::string Release(std::size_t* offset);

 private:
  void Prepend(const char* bytes, std::size_t size);

  std::string body_;
  std::size_t begin_ = kRoomBytes;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_REPLY_BUFFER_H_
