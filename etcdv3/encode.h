// Results of the store -> replies of the etcd API, written straight into the bytes that are sent. Pairs
// and events come from the store encoded and are copied as they are.

#ifndef KVIST_ETCDV3_ENCODE_H_
#define KVIST_ETCDV3_ENCODE_H_

#include <cstddef>
#include <string>

#include "etcdv3/identity.h"
#include "etcdv3/reply_buffer.h"
#include "kv/types.h"
#include "watch/delivery.h"

namespace kvist::etcdv3 {

// Writes `header = 1` with a full ResponseHeader at `out`, which has ReplyBuffer::kRoomBytes. Returns its
// size.
std::size_t WriteHeader(const Identity& identity, kv::Revision revision, char* out);

// Complete a cleared buffer. `result` is not changed except where said.

// The pairs of `result.kvs` are already in the buffer (see kv_service.cc); only the rest is added.
void FinishRangeReply(const Identity& identity, const kv::RangeResult& result, ReplyBuffer* reply);
void EncodePut(const Identity& identity, const kv::PutResult& result, ReplyBuffer* reply);
void EncodeDeleteRange(const Identity& identity, const kv::DeleteRangeResult& result, ReplyBuffer* reply);
void EncodeTxn(const Identity& identity, const kv::TxnResult& result, ReplyBuffer* reply);
void EncodeCompact(const Identity& identity, const kv::CompactResult& result, ReplyBuffer* reply);

// Writes all fields of a WatchResponse but `fragment` and `events` into `reply`: append those.
void EncodeWatchHead(const Identity& identity, const watch::Delivery& delivery, ReplyBuffer* reply);

// Appends `fragment = 7`: more pieces of this response follow.
void AppendFragmentMark(ReplyBuffer* reply);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_ENCODE_H_
