#include "watch/test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kv/errors.h"
#include "kv/key_value.h"

namespace kvist::watch {
namespace {

std::optional<std::uint64_t> ReadVarint(std::string_view* bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Reads a length-delimited field with this tag byte off the front.
std::optional<std::string_view> ReadField(char tag, std::string_view* bytes) {
  if (bytes->empty() || bytes->front() != tag) return std::nullopt;
  bytes->remove_prefix(1);
  const std::optional<std::uint64_t> size = ReadVarint(bytes);
  if (!size.has_value() || *size > bytes->size()) return std::nullopt;
  const std::string_view field = bytes->substr(0, *size);
  bytes->remove_prefix(*size);
  return field;
}

// Of one mvccpb.Event.
std::string EventText(std::string_view event) {
  const bool is_delete = event.starts_with(std::string_view("\x08\x01", 2));
  if (is_delete) event.remove_prefix(2);
  const std::optional<std::string_view> kv_bytes = ReadField(0x12, &event);
  kv::KeyValueView kv;
  if (!kv_bytes.has_value() || !kv::DecodeKeyValue(*kv_bytes, &kv)) return "malformed kv";
  std::string text = absl::StrCat(is_delete ? "delete " : "put ", std::string(kv.key));
  if (!is_delete) absl::StrAppend(&text, "=", std::string(kv.value), " create=", kv.create_revision);
  absl::StrAppend(&text, " mod=", kv.mod_revision);
  if (event.empty()) return text;
  const std::optional<std::string_view> prev_bytes = ReadField(0x1a, &event);
  kv::KeyValueView prev;
  if (!prev_bytes.has_value() || !event.empty() || !kv::DecodeKeyValue(*prev_bytes, &prev)) {
    return "malformed prev_kv";
  }
  EXPECT_EQ(prev.key, kv.key);
  EXPECT_LT(prev.mod_revision, kv.mod_revision);
  return absl::StrCat(text, " prev=", std::string(prev.value));
}

}  // namespace

std::vector<std::string> EventTexts(const EventBlock& block) {
  std::vector<std::string> texts;
  std::string_view wire = block.wire;
  for (const std::uint32_t size : block.sizes) {
    std::string_view field = wire.substr(0, size);
    wire.remove_prefix(field.size());
    const std::optional<std::string_view> event = ReadField(0x5a, &field);
    texts.push_back(event.has_value() && field.empty() ? EventText(*event) : "malformed field");
  }
  EXPECT_TRUE(wire.empty());
  EXPECT_EQ(block.count(), block.sizes.size());
  return texts;
}

std::string Text(const Delivery& delivery) {
  EXPECT_EQ(delivery.events != nullptr, delivery.kind == DeliveryKind::kEvents);
  EXPECT_EQ(delivery.extras != nullptr,
            delivery.kind == DeliveryKind::kCreateFailed || delivery.kind == DeliveryKind::kCompacted);
  const std::string place = absl::StrCat(delivery.watch_id, " @", delivery.revision);
  switch (delivery.kind) {
    case DeliveryKind::kCreated:
      return absl::StrCat("created ", place);
    case DeliveryKind::kCreateFailed:
      EXPECT_EQ(delivery.watch_id, kNoWatch);
      EXPECT_EQ(delivery.extras->compact_revision, 0);
      return absl::StrCat("refused @", delivery.revision, ": ", delivery.extras->cancel_reason);
    case DeliveryKind::kEvents:
      return absl::StrCat("events ", place, ": ", absl::StrJoin(EventTexts(*delivery.events), ", "));
    case DeliveryKind::kProgress:
      return absl::StrCat("progress ", place);
    case DeliveryKind::kCanceled:
      return absl::StrCat("canceled ", place);
    case DeliveryKind::kCompacted:
      EXPECT_EQ(delivery.revision, 0);
      EXPECT_EQ(delivery.extras->cancel_reason, "");
      return absl::StrCat("compacted ", delivery.watch_id, " at ", delivery.extras->compact_revision);
  }
  return "no kind";
}

// FakeEngine.

kv::LogRecord FakeEngine::Record::View() const {
  kv::LogRecord view;
  view.revision = revision;
  view.sub_revision = sub_revision;
  view.tombstone = tombstone;
  view.key = key;
  view.key_value = key_value;
  return view;
}

FakeEngine::RecordPtr FakeEngine::Newest(std::string_view key, kv::Revision at) const {
  const auto newest = std::find_if(log_.rbegin(), log_.rend(), [&](const RecordPtr& record) {
    return record->revision <= at && record->key == key;
  });
  return newest == log_.rend() ? nullptr : *newest;
}

void FakeEngine::Append(const std::vector<Change>& changes) {
  MutexLock lock(&mu_);
  const kv::Revision revision = current_ + 1;
  std::uint32_t sub = 0;
  for (const Change& change : changes) {
    const RecordPtr old = Newest(change.key, revision);
    const bool exists = old != nullptr && !old->tombstone;
    EXPECT_TRUE(exists || !change.is_delete) << "no such key: " << change.key;
    kv::KeyValueView old_kv;
    EXPECT_TRUE(!exists || kv::DecodeKeyValue(old->key_value, &old_kv));
    kv::KeyValueView kv;
    kv.key = change.key;
    kv.mod_revision = revision;
    if (!change.is_delete) {
      kv.create_revision = exists ? old_kv.create_revision : revision;
      kv.version = exists ? old_kv.version + 1 : 1;
      kv.value = change.value;
    }
    auto record = std::make_shared<Record>();
    record->key = change.key;
    kv::AppendKeyValue(kv, &record->key_value);
    record->revision = revision;
    record->sub_revision = sub++;
    record->tombstone = change.is_delete;
    log_.push_back(std::move(record));
  }
  current_ = revision;
}

void FakeEngine::Publish() {
  MutexLock telling(&listener_mu_);
  auto owner = std::make_shared<std::vector<RecordPtr>>();
  {
    MutexLock lock(&mu_);
    owner->assign(log_.begin() + static_cast<std::ptrdiff_t>(published_), log_.end());
    published_ = log_.size();
  }
  kv::CommittedBatch batch;
  for (const RecordPtr& record : *owner) batch.records.push_back(record->View());
  batch.owner = std::move(owner);
  if (listener_ != nullptr) listener_->OnCommit(batch);
}

kv::Revision FakeEngine::CurrentRevision() const {
  MutexLock lock(&mu_);
  return current_;
}

kv::Revision FakeEngine::CompactedRevision() const {
  MutexLock lock(&mu_);
  return compacted_;
}

absl::Status FakeEngine::Range(const kv::RangeRequest& request, kv::RangeResult* result) {
  EXPECT_TRUE(request.range_end.empty());
  MutexLock lock(&mu_);
  if (!read_status_.ok()) return read_status_;
  if (request.revision < compacted_) return kv::CompactedError();
  const RecordPtr record = Newest(request.key, request.revision);
  if (record != nullptr && !record->tombstone) kv::AppendField(2, record->key_value, &result->kvs);
  result->revision = current_;
  return absl::OkStatus();
}

absl::Status FakeEngine::ReadLog(kv::Revision from, absl::FunctionRef<bool(const kv::LogRecord&)> visit) {
  std::vector<RecordPtr> records;
  std::function<void()> after;
  {
    MutexLock lock(&mu_);
    ++read_log_calls_;
    if (!read_status_.ok()) return read_status_;
    if (from < compacted_) return kv::CompactedError();
    for (const RecordPtr& record : log_) {
      if (record->revision >= from) records.push_back(record);
    }
    after = after_read_log_;
  }
  for (const RecordPtr& record : records) {
    if (!visit(record->View())) break;
  }
  if (after) after();
  return absl::OkStatus();
}

void FakeEngine::SetCommitListener(kv::CommitListener* listener) {
  MutexLock telling(&listener_mu_);
  listener_ = listener;
}

absl::Status FakeEngine::ReadOnlyTxn(const kv::TxnRequest&, kv::TxnResult*) {
  return absl::UnimplementedError("fake");
}

void FakeEngine::Submit(kv::Write* write, kv::Lead) {
  write->status = absl::UnimplementedError("fake");
  write->Done();
}

std::string FakeEngine::ActorName(std::uint32_t) const { return {}; }

// Client.

std::vector<std::string> Client::TakeTexts() {
  std::vector<std::string> texts;
  for (const Delivery& delivery : TakeAll()) texts.push_back(Text(delivery));
  return texts;
}

bool Client::AwaitReady() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  MutexLock lock(&mu_);
  while (!ready_) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    changed_.WaitFor(&mu_, left);
  }
  ready_ = false;
  return true;
}

std::vector<Delivery> Client::Await(std::size_t count) {
  std::vector<Delivery> taken = TakeAll();
  while (taken.size() < count && AwaitReady()) {
    for (Delivery& delivery : TakeAll()) taken.push_back(std::move(delivery));
  }
  return taken;
}

std::vector<std::string> Client::AwaitTexts(std::size_t count) {
  std::vector<std::string> texts;
  for (const Delivery& delivery : Await(count)) texts.push_back(Text(delivery));
  return texts;
}

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kvist::watch
