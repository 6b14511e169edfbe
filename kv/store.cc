#include "kv/store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kv/errors.h"
#include "kv/key_value.h"
#include "kv/store_impl.h"

namespace kvist::kv {

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const StoreOptions& options) {
  absl::StatusOr<std::unique_ptr<RevisionLog>> log = RevisionLog::Open(options);
  if (!log.ok()) return log.status();
  return StoreImpl::Load(*std::move(log));
}

absl::StatusOr<std::unique_ptr<StoreImpl>> StoreImpl::Load(std::unique_ptr<RevisionLog> log) {
  std::unique_ptr<StoreImpl> store(new StoreImpl(std::move(log)));
  absl::Status status = store->LoadState();
  if (status.ok()) status = store->LoadIndex();
  if (status.ok()) status = store->CountOpen();
  if (!status.ok()) return status;
  return store;
}

StoreImpl::StoreImpl(std::unique_ptr<RevisionLog> log)
    : log_(std::move(log)), batch_(log_.get(), &index_, &actors_) {}

StoreImpl::~StoreImpl() {
  if (queue_ != nullptr) queue_->Stop();
  if (compactor_ != nullptr) compactor_->Stop();
}

absl::Status StoreImpl::LoadState() {
  absl::StatusOr<RevisionLog::Snapshot> snapshot = log_->Read();
  if (!snapshot.ok()) return snapshot.status();
  open_count_ = snapshot->GetNumber(kOpenCountState).value_or(0);
  index_.compacted = snapshot->GetNumber(kCompactedState).value_or(kNeverCompacted);
  return actors_.Load(*snapshot);
}

absl::Status StoreImpl::LoadIndex() {
  absl::StatusOr<RevisionLog::Snapshot> snapshot = log_->Read();
  if (!snapshot.ok()) return snapshot.status();
  WriterLock lock(&index_.mu);
  absl::Status malformed;
  Revision last = index_.committed;
  const auto load = [&](RevisionKey key, std::string_view bytes) REQUIRES(index_.mu) {
    LogRecord record;
    KeyValueView kv;
    if (!DecodeRecord(key, bytes, &record) || !DecodeKeyValue(record.key_value, &kv)) {
      malformed = absl::DataLossError(
          absl::StrCat("storage: the record of revision ", key.main, ".", key.sub, " is malformed"));
      return false;
    }
    KeyState state;
    state.newest = {key.main, key.sub, record.tombstone};
    state.create_revision = kv.create_revision;
    state.version = kv.version;
    state.lease = kv.lease;
    index_.keys.Load(kv.key, state);
    last = key.main;
    return true;
  };
  if (absl::Status status = snapshot->Scan(RevisionKey(), load); !status.ok()) return status;
  index_.keys.FinishLoading();
  index_.committed = last;
  return malformed;
}

absl::Status StoreImpl::CountOpen() {
  Revision compaction_done = kNeverCompacted;
  {
    absl::StatusOr<RevisionLog::Snapshot> snapshot = log_->Read();
    if (!snapshot.ok()) return snapshot.status();
    compaction_done = snapshot->GetNumber(kCompactionDoneState).value_or(kNeverCompacted);
  }
  absl::StatusOr<RevisionLog::Batch> batch = log_->Begin();
  if (!batch.ok()) return batch.status();
  absl::Status status = batch->PutNumber(kOpenCountState, ++open_count_);
  if (status.ok()) status = batch->Commit();
  if (status.ok()) StartThreads(compaction_done);
  return status;
}

void StoreImpl::StartThreads(Revision compaction_done) {
  queue_ = std::make_unique<WriteQueue>([this](const std::vector<Write*>& writes) { RunBatch(writes); });
  compactor_ = std::make_unique<Compactor>(log_.get(), &index_, queue_.get(), &pins_, compaction_done);
  compactor_->Schedule(CompactedRevision(), nullptr);
}

void StoreImpl::SetCommitListener(CommitListener* listener) {
  queue_->RunAlone([&] { listener_ = listener; });
}

absl::StatusOr<StoreStats> StoreImpl::Stats() {
  StoreStats stats;
  if (absl::Status status = log_->FileSizes(&stats); !status.ok()) return status;
  ReaderLock lock(&index_.mu);
  stats.keys = index_.keys.live();
  stats.index_keys = index_.keys.size();
  return stats;
}

void StoreImpl::RunBatch(const std::vector<Write*>& writes) {
  batch_.Begin();
  for (Write* write : writes) batch_.Execute(write);
  const absl::Status committed = batch_.Commit();
  if (listener_ != nullptr) {
    const CommittedBatch batch = batch_.TakeCommitted();
    if (!batch.records.empty()) listener_->OnCommit(batch);
  }
  batch_.End();
  for (Write* write : writes) Answer(write, committed);
}

void StoreImpl::Answer(Write* write, const absl::Status& committed) {
  if (write->status.ok()) write->status = committed;
  const auto* compact = std::get_if<CompactRequest>(&write->request);
  if (compact == nullptr || !write->status.ok()) {
    write->Done();
    return;
  }
  const Revision revision = compact->revision;
  if (!compact->physical) {
    write->Done();
    compactor_->Schedule(revision, nullptr);
    return;
  }
  compactor_->Schedule(revision, [write](bool finished) {
    if (!finished) write->status = StoppedError();
    write->Done();
  });
}

}  // namespace kvist::kv
