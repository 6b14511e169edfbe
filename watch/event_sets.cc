#include "watch/event_sets.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "kv/errors.h"
#include "kv/key_value.h"

namespace kvist::watch {
namespace {

// Tag bytes: field number << 3 | wire type.
constexpr char kEventsTag = 11 << 3 | 2;   // of etcdserverpb.WatchResponse
constexpr char kKeyValueTag = 2 << 3 | 2;  // of mvccpb.Event, as the following
constexpr char kPrevKvTag = 3 << 3 | 2;
constexpr std::string_view kTypeDelete("\x08\x01", 2);  // type = DELETE; PUT is 0 and so left out

// The bytes of a length-delimited field with a tag of one byte.
std::size_t FieldSize(std::size_t content) {
  return 1 + (static_cast<std::size_t>(std::bit_width(content | 1)) + 6) / 7 + content;
}

std::size_t EventSize(const kv::LogRecord& record, std::string_view prev_kv_field) {
  return (record.tombstone ? kTypeDelete.size() : 0) + FieldSize(record.key_value.size()) +
         prev_kv_field.size();
}

char* Write(std::string_view bytes, char* out) { return std::copy(bytes.begin(), bytes.end(), out); }

char* WriteFieldHeader(char tag, std::size_t content, char* out) {
  *out++ = tag;
  for (; content >= 0x80; content >>= 7) *out++ = static_cast<char>(content | 0x80);
  *out++ = static_cast<char>(content);
  return out;
}

char* WriteEvent(const kv::LogRecord& record, std::string_view prev_kv_field, char* out) {
  out = WriteFieldHeader(kEventsTag, EventSize(record, prev_kv_field), out);
  if (record.tombstone) out = Write(kTypeDelete, out);
  out = WriteFieldHeader(kKeyValueTag, record.key_value.size(), out);
  out = Write(record.key_value, out);
  return Write(prev_kv_field, out);
}

bool IsCreation(const kv::LogRecord& record) {
  kv::KeyValueView view;
  return !record.tombstone && kv::DecodeKeyValue(record.key_value, &view) &&
         view.create_revision == record.revision;
}

}  // namespace

void EventSets::Start(const std::vector<kv::LogRecord>* records) {
  records_ = records;
  if (nodes_.size() == 1) return;  // as it is between events that nobody wants
  nodes_.clear();
  nodes_.emplace_back();
  bytes_ = 0;
  previous_.clear();
}

EventSets::Set EventSets::AddChild(Set set, std::uint32_t record) {
  const auto child = static_cast<Set>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.parent = set;
  node.record = record;
  node.count = nodes_[set].count + 1;
  node.bytes = nodes_[set].bytes + FieldSize(EventSize((*records_)[record], {}));
  nodes_[set].child_record = record;
  nodes_[set].child = child;
  return child;
}

void EventSets::MakeBlock(Set set, bool prev_kv) {
  const Numbers records = RecordsOf(set);
  Node& node = nodes_[set];
  if (!prev_kv) {
    node.plain = Encode(records, false);
    return;
  }
  if (previous_.size() < records_->size()) previous_.resize(records_->size());
  bool any = false;
  for (const std::uint32_t record : records) {
    if (!ReadPrevious(record)) return;
    any |= !previous_[record].field.empty();
  }
  node.with_prev = any ? Encode(records, true) : Block(set, false);
}

bool EventSets::ReadPrevious(std::uint32_t number) {
  Previous& previous = previous_[number];
  const kv::LogRecord& record = (*records_)[number];
  if (previous.read) return true;
  if (!IsCreation(record)) {
    kv::RangeRequest request;
    request.key = record.key;
    request.revision = record.revision - 1;
    request.with_count = false;
    kv::RangeResult result;
    const absl::Status status = engine_->Range(request, &result);
    if (!status.ok() && !kv::IsCompacted(status)) return false;
    if (status.ok() && !result.kvs.empty()) {
      // The pair is there as a field of its own already, and lacks but the tag of this one.
      previous.field = std::move(result.kvs);
      previous.field[0] = kPrevKvTag;
    }
  }
  previous.read = true;
  return true;
}

EventSets::Numbers EventSets::RecordsOf(Set set) const {
  Numbers records(nodes_[set].count);
  for (std::size_t i = records.size(); i-- > 0; set = nodes_[set].parent) records[i] = nodes_[set].record;
  return records;
}

std::shared_ptr<const EventBlock> EventSets::Encode(const Numbers& records, bool prev_kv) const {
  const auto previous = [&](std::uint32_t record) {
    return prev_kv ? std::string_view(previous_[record].field) : std::string_view();
  };
  std::size_t bytes = 0;
  for (const std::uint32_t record : records) {
    bytes += FieldSize(EventSize((*records_)[record], previous(record)));
  }
  NewEventBlock made = MakeEventBlock(bytes);
  made.block->sizes.reserve(records.size());
  char* out = made.wire;
  for (const std::uint32_t record : records) {
    char* const end = WriteEvent((*records_)[record], previous(record), out);
    made.block->sizes.push_back(static_cast<std::uint32_t>(end - out));
    out = end;
  }
  return std::move(made.block);
}

}  // namespace kvist::watch
