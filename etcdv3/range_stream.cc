// See range_stream.h.

#include "etcdv3/range_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "etcdv3/convert.h"
#include "etcdv3/encode.h"
#include "etcdv3/errors.h"
#include "etcdv3/validate.h"
#include "kv/key_value.h"

namespace kvist::etcdv3 {
namespace {

// The key of the last pair in `kvs`, which it views, and the number of pairs.
std::string_view LastKey(std::string_view kvs, std::int64_t* pairs) {
  std::string_view key;
  *pairs = 0;
  kv::ForEachKeyValue(kvs, [&](const kv::KeyValueView& pair) {
    key = pair.key;
    ++*pairs;
  });
  return key;
}

}  // namespace

absl::Status RangeStreamHandler::Start(std::string_view message) {
  message_.assign(message);
  if (!DecodeRange(message_, &request_)) return MalformedMessageError();
  if (absl::Status status = CheckRangeStream(request_); !status.ok()) return status;
  // Without an order asked for etcd sends every chunk in key order, whatever the target.
  request_.sort_target = kv::SortTarget::kKey;
  left_ = request_.limit > 0 ? request_.limit : std::numeric_limits<std::int64_t>::max();
  return absl::OkStatus();
}

void RangeStreamHandler::OnMessage(std::string_view message) {
  if (absl::Status status = Start(message); !status.ok()) return call_->Finish(status);
  SendChunk();
}

void RangeStreamHandler::OnHalfClose() { call_->Finish(MissingMessageError()); }

void RangeStreamHandler::SendChunk() {
  ReplyBuffer* reply = call_->reply();
  kv::RangeResult result;
  result.kvs = std::move(reply->body());
  request_.limit = std::min(chunk_keys_, left_);
  const absl::Status status = engine_->Range(request_, &result);
  reply->body() = std::move(result.kvs);
  if (!status.ok()) return call_->Finish(FromEngine(status));
  Advance(result, reply->bytes());
  if (done_) {
    result.revision = header_revision_;
    result.count = count_;
    FinishRangeReply(identity_, result, reply);
  }
  reply->Wrap(1);  // RangeStreamResponse.range_response
  call_->Send({}, /*more=*/!done_);
}

// Takes in what a chunk told and makes request_ ask for the one behind it.
void RangeStreamHandler::Advance(const kv::RangeResult& result, std::string_view kvs) {
  if (header_revision_ == 0) {
    header_revision_ = result.revision;
    if (request_.revision <= 0) request_.revision = result.revision;
    count_ = result.count;
    request_.with_count = false;  // the first chunk has told it
  }
  std::int64_t pairs = 0;
  const std::string_view last_key = LastKey(kvs, &pairs);
  left_ -= pairs;
  done_ = !result.more || left_ == 0;
  if (kvs.size() < chunk_bytes_ / 2) chunk_keys_ *= 2;
  if (kvs.size() > chunk_bytes_ * 2) chunk_keys_ = std::max<std::int64_t>(1, chunk_keys_ / 2);
  next_key_.assign(last_key);
  next_key_.push_back('\0');
  request_.key = next_key_;
}

void RangeStreamHandler::OnSent() {
  if (done_) return call_->Finish(absl::OkStatus());
  SendChunk();
}

}  // namespace kvist::etcdv3
