#include "watch/event_sets.h"

#include <bit>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "kv/errors.h"
#include "kv/key_value.h"

namespace kvist::watch {
namespace {

// Field numbers of etcdserverpb.WatchResponse and mvccpb.Event.
constexpr int kEventsField = 11;
constexpr int kKeyValueField = 2;
constexpr std::string_view kTypeDelete("\x08\x01", 2);  // type = DELETE; PUT is 0 and so left out
constexpr char kPrevKvTag = 3 << 3 | 2;

// Tag and length of an event and its key-value, and its type: at most so many bytes.
constexpr std::size_t kEventOverheadMax = 2 * 11 + 2;

// The bytes of a length-delimited field with a number below 16.
std::size_t FieldSize(std::size_t content) {
  return 1 + (static_cast<std::size_t>(std::bit_width(content | 1)) + 6) / 7 + content;
}

void AppendEvent(const kv::LogRecord& record, std::string_view prev_kv_field, EventBlock* block) {
  const std::size_t content =
      (record.tombstone ? kTypeDelete.size() : 0) + FieldSize(record.key_value.size()) + prev_kv_field.size();
  kv::AppendFieldHeader(kEventsField, content, &block->wire);
  if (record.tombstone) block->wire.append(kTypeDelete);
  kv::AppendField(kKeyValueField, record.key_value, &block->wire);
  block->wire.append(prev_kv_field);
  block->sizes.push_back(static_cast<std::uint32_t>(FieldSize(content)));
}

bool IsCreation(const kv::LogRecord& record) {
  kv::KeyValueView view;
  return !record.tombstone && kv::DecodeKeyValue(record.key_value, &view) &&
         view.create_revision == record.revision;
}

}  // namespace

void EventSets::Start(const std::vector<kv::LogRecord>* records) {
  records_ = records;
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
  node.bytes = nodes_[set].bytes + (*records_)[record].key_value.size() + kEventOverheadMax;
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
  for (auto out = records.rbegin(); out != records.rend(); ++out) {
    *out = nodes_[set].record;
    set = nodes_[set].parent;
  }
  return records;
}

std::shared_ptr<const EventBlock> EventSets::Encode(const Numbers& records, bool prev_kv) const {
  std::size_t bytes = 0;
  for (const std::uint32_t record : records) {
    bytes += (*records_)[record].key_value.size() + kEventOverheadMax;
    if (prev_kv) bytes += previous_[record].field.size();
  }
  auto block = std::make_shared<EventBlock>();
  block->wire.reserve(bytes);
  block->sizes.reserve(records.size());
  for (const std::uint32_t record : records) {
    const std::string_view previous =
        prev_kv ? std::string_view(previous_[record].field) : std::string_view();
    AppendEvent((*records_)[record], previous, block.get());
  }
  return block;
}

}  // namespace kvist::watch
