#include "kv/batch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kv/errors.h"
#include "kv/key_value.h"
#include "kv/txn_executor.h"

namespace kvist::kv {
namespace {

constexpr int kPrevKvsField = 3;  // of DeleteRangeResult::prev_kvs

// An arena that grew beyond this is given back rather than kept for the next batch.
constexpr std::size_t kArenaKeepBytesMax = std::size_t{1} << 20;

std::int64_t UnixNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Batch::Batch(RevisionLog* log, SharedIndex* index, ActorTable* actors)
    : log_(log), index_(index), actors_(actors), arena_(std::make_shared<std::string>()) {}

void Batch::Begin() {
  last_revision_ = index_->committed.load(std::memory_order_relaxed);
  commit_unix_nanos_ = std::max(commit_unix_nanos_, UnixNanos());
}

void Batch::Execute(Write* write) {
  actor_ = actors_->Number(write->actor);
  next_sub_ = 0;
  const std::size_t changes_before = changes_.size();
  write->status = std::visit([&](const auto& request) { return ExecuteRequest(request, &write->result); },
                             write->request);
  if (!write->status.ok()) {
    UndoBeyond(changes_before);
  } else if (next_sub_ > 0) {
    ++last_revision_;
  }
}

absl::Status Batch::ExecuteRequest(const PutRequest& put, Write::Result* result) {
  if (absl::Status status = CheckPut(put); !status.ok()) return status;
  return Put(put, &result->emplace<PutResult>());
}

absl::Status Batch::ExecuteRequest(const DeleteRangeRequest& request, Write::Result* result) {
  return DeleteRange(request, &result->emplace<DeleteRangeResult>());
}

absl::Status Batch::ExecuteRequest(const TxnRequest& txn, Write::Result* result) {
  return TxnExecutor(this, txn).Execute(&result->emplace<TxnResult>());
}

absl::Status Batch::ExecuteRequest(const CompactRequest& compact, Write::Result* result) {
  if (compact.revision <= CompactedRevision()) return CompactedError();
  if (compact.revision > last_revision_) return FutureRevisionError();
  compact_revision_ = compact.revision;
  result->emplace<CompactResult>().revision = last_revision_;
  return absl::OkStatus();
}

absl::Status Batch::CheckPut(const PutRequest& put) const {
  // No lease can exist yet, so none is ever found.
  if (put.lease != 0) return LeaseNotFoundError();
  if (put.ignore_value || put.ignore_lease) {
    const KeyEntry* entry = Find(put.key);
    if (entry == nullptr || !entry->alive()) return KeyNotFoundError();
  }
  return absl::OkStatus();
}

absl::Status Batch::Put(const PutRequest& put, PutResult* result) {
  KeyEntry* entry = Find(put.key);
  const bool exists = entry != nullptr && entry->alive();
  // A Txn was checked before it began, but may have deleted the key itself since.
  if (!exists && (put.ignore_value || put.ignore_lease)) return KeyNotFoundError();
  const KeyState before = exists ? entry->state() : KeyState();
  std::string kept_value;
  if (exists && (put.prev_kv || put.ignore_value)) {
    const std::optional<std::string_view> record = FindRecord(before.newest.revision());
    KeyValueView kv;
    if (!record.has_value() || !DecodeKeyValue(*record, &kv)) {
      return absl::DataLossError("storage: the previous record of a key is missing or malformed");
    }
    if (put.ignore_value) kept_value = std::string(kv.value);
    if (put.prev_kv) {
      result->has_prev_kv = true;
      result->prev_kv = std::string(*record);
    }
  }
  KeyState state;
  state.create_revision = exists ? before.create_revision : NextRevision().main;
  state.version = before.version + 1;
  state.lease = put.ignore_lease ? before.lease : put.lease;
  Append(put.key, entry, state, put.ignore_value ? kept_value : put.value);
  result->revision = ShownRevision();
  return absl::OkStatus();
}

absl::Status Batch::DeleteRange(const DeleteRangeRequest& request, DeleteRangeResult* result) {
  const std::vector<KeyEntry*> entries = AliveIn(KeyRange(request.key, request.range_end));
  for (KeyEntry* entry : entries) {
    if (request.prev_kv) {
      const std::optional<std::string_view> record = FindRecord(entry->state().newest.revision());
      if (!record.has_value()) return absl::DataLossError("storage: the record of a key is missing");
      AppendField(kPrevKvsField, *record, &result->prev_kvs);
    }
    Delete(entry);
  }
  result->deleted = static_cast<std::int64_t>(entries.size());
  result->revision = ShownRevision();
  return absl::OkStatus();
}

absl::Status Batch::Range(const RangeRequest& request, RangeResult* result) {
  const bool newest = request.revision <= 0;
  const auto records = [this](RevisionKey revision) { return FindRecord(revision); };
  RangeReader reader(request, newest ? kNewest : request.revision,
                     newest ? RangeReader::Count::kAtNewest : RangeReader::Count::kWalk, records, result);
  for (bool done = false; !done;) {
    ReaderLock lock(&index_->mu);
    done = reader.Collect(index_->keys, kEntriesPerLockMax);
  }
  result->revision = ShownRevision();
  return reader.Finish();
}

KeyEntry* Batch::Find(std::string_view key) const {
  ReaderLock lock(&index_->mu);
  return index_->keys.Find(key);
}

std::vector<KeyEntry*> Batch::AliveIn(const KeyRange& range) const {
  std::vector<KeyEntry*> alive;
  ReaderLock lock(&index_->mu);
  if (range.single) {
    KeyEntry* entry = index_->keys.Find(range.begin);
    if (entry != nullptr && entry->alive()) alive.push_back(entry);
    return alive;
  }
  for (CountedTree::Cursor cursor = index_->keys.Seek(range.begin); cursor.valid(); cursor.Next()) {
    if (range.EndsBefore(cursor.entry()->key())) break;
    if (cursor.entry()->alive()) alive.push_back(cursor.entry());
  }
  return alive;
}

void Batch::Append(std::string_view key, KeyEntry* entry, const KeyState& state, std::string_view value) {
  const RevisionKey revision = NextRevision();
  KeyState newest = state;
  newest.newest.main = revision.main;
  newest.newest.sub = revision.sub;
  KeyValueView kv;
  kv.key = key;
  kv.create_revision = state.create_revision;
  kv.mod_revision = revision.main;
  kv.version = state.version;
  kv.lease = state.lease;
  kv.value = value;
  const std::size_t offset = arena_->size();
  AppendRecordHeader(state.newest.tombstone, commit_unix_nanos_, actor_, arena_.get());
  AppendKeyValue(kv, arena_.get());
  pending_.push_back({revision, offset, arena_->size() - offset});
  ++next_sub_;
  WriterLock lock(&index_->mu);
  changes_.push_back(index_->keys.Apply(key, entry, newest));
}

void Batch::Delete(KeyEntry* entry) {
  KeyState deleted;
  deleted.newest.tombstone = true;
  Append(entry->key(), entry, deleted, {});
}

std::optional<std::string_view> Batch::FindRecord(RevisionKey revision) {
  std::optional<std::string_view> record;
  if (revision.main > index_->committed.load(std::memory_order_relaxed)) {
    const auto found = std::lower_bound(pending_.begin(), pending_.end(), revision,
                                        [](const Pending& p, RevisionKey r) { return p.revision < r; });
    if (found != pending_.end()) record = std::string_view(*arena_).substr(found->offset, found->bytes);
  } else {
    if (!snapshot_.valid()) {
      absl::StatusOr<RevisionLog::Snapshot> snapshot = log_->Read();
      if (!snapshot.ok()) return std::nullopt;
      snapshot_ = *std::move(snapshot);
    }
    record = snapshot_.Get(revision);
  }
  if (record.has_value()) record->remove_prefix(kRecordHeaderBytes);
  return record;
}

absl::Status Batch::Commit() {
  if (pending_.empty() && !compact_revision_.has_value()) return absl::OkStatus();
  absl::StatusOr<RevisionLog::Batch> log_batch = log_->Begin();
  absl::Status status = log_batch.status();
  if (status.ok()) status = AppendToLog(&*log_batch);
  if (status.ok()) status = log_batch->Commit();
  if (!status.ok()) {
    UndoBeyond(0);
    compact_revision_.reset();
    return status;
  }
  actors_->Saved();
  Publish();
  return absl::OkStatus();
}

absl::Status Batch::AppendToLog(RevisionLog::Batch* log_batch) const {
  for (const Pending& record : pending_) {
    const std::string_view bytes = std::string_view(*arena_).substr(record.offset, record.bytes);
    if (absl::Status status = log_batch->Append(record.revision, bytes); !status.ok()) return status;
  }
  if (compact_revision_.has_value()) {
    absl::Status status = log_batch->PutNumber(kCompactedState, *compact_revision_);
    if (!status.ok()) return status;
  }
  return actors_->Save(log_batch);
}

void Batch::Publish() {
  WriterLock lock(&index_->mu);
  index_->committed.store(last_revision_, std::memory_order_release);
  if (compact_revision_.has_value()) {
    index_->compacted.store(*compact_revision_, std::memory_order_release);
  }
  index_->keys.EndBatch();
}

void Batch::UndoBeyond(std::size_t changes) {
  if (changes_.size() == changes) return;
  WriterLock lock(&index_->mu);
  for (; changes_.size() > changes; changes_.pop_back()) index_->keys.Undo(changes_.back());
  arena_->resize(changes == 0 ? 0 : pending_[changes - 1].offset + pending_[changes - 1].bytes);
  pending_.resize(changes);
}

CommittedBatch Batch::TakeCommitted() {
  CommittedBatch committed;
  committed.records.reserve(pending_.size());
  for (const Pending& pending : pending_) {
    const std::string_view bytes = std::string_view(*arena_).substr(pending.offset, pending.bytes);
    LogRecord& record = committed.records.emplace_back();
    // What was encoded a moment ago decodes.
    (void)DecodeRecord(pending.revision, bytes, &record);
  }
  committed.owner = arena_;
  return committed;
}

void Batch::End() {
  pending_.clear();
  changes_.clear();
  compact_revision_.reset();
  snapshot_ = RevisionLog::Snapshot();
  if (arena_.use_count() > 1 || arena_->capacity() > kArenaKeepBytesMax) {
    arena_ = std::make_shared<std::string>();
  } else {
    arena_->clear();
  }
}

}  // namespace kvist::kv
