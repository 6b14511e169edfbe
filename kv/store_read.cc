// The reading half of the store: see kv/store_impl.h for why things happen in this order.

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "kv/compare.h"
#include "kv/errors.h"
#include "kv/store_impl.h"

namespace kvist::kv {

absl::Status CheckReadable(Revision revision, Revision current, Revision compacted) {
  if (revision > current) return FutureRevisionError();
  if (revision < compacted) return CompactedError();
  return absl::OkStatus();
}

namespace {

// Finds records in a snapshot that is set once it has been taken.
class SnapshotRecords {
 public:
  absl::Status TakeSnapshot(RevisionLog* log) {
    absl::StatusOr<RevisionLog::Snapshot> snapshot = log->Read();
    if (!snapshot.ok()) return snapshot.status();
    snapshot_ = *std::move(snapshot);
    return absl::OkStatus();
  }

  std::optional<std::string_view> operator()(RevisionKey revision) const {
    std::optional<std::string_view> record = snapshot_.Get(revision);
    if (record.has_value()) record->remove_prefix(kRecordHeaderBytes);
    return record;
  }

 private:
  RevisionLog::Snapshot snapshot_;
};

RangeReader::Count CountFor(Revision at, Revision current) {
  return at == current ? RangeReader::Count::kAtCommitted : RangeReader::Count::kWalk;
}

}  // namespace

void StoreImpl::CollectRest(RangeReader* reader) {
  while (!reader->collected()) {
    ReaderLock lock(&index_.mu);
    reader->Collect(index_.keys, kEntriesPerLockMax);
  }
}

absl::Status StoreImpl::Range(const RangeRequest& request, RangeResult* result) {
  SnapshotRecords records;
  std::optional<RangeReader> reader;
  Revision at = 0;
  {
    ReaderLock lock(&index_.mu);
    const Revision current = CurrentRevision();
    result->revision = current;
    at = request.revision > 0 ? request.revision : current;
    if (absl::Status status = CheckReadable(at, current, CompactedRevision()); !status.ok()) return status;
    if (absl::Status status = records.TakeSnapshot(log_.get()); !status.ok()) return status;
    reader.emplace(request, at, CountFor(at, current), records, result);
    if (!reader->Collect(index_.keys, kEntriesPerLockMax)) pins_.Add(at);
  }
  if (!reader->collected()) {
    CollectRest(&*reader);
    pins_.Remove(at);
  }
  return reader->Finish();
}

absl::Status StoreImpl::ReadOnlyTxn(const TxnRequest& request, TxnResult* result) {
  SnapshotRecords records;
  std::deque<RangeReader> readers;
  Revision oldest = 0;
  bool pinned = false;
  {
    ReaderLock lock(&index_.mu);
    const Revision current = CurrentRevision();
    if (absl::Status status = records.TakeSnapshot(log_.get()); !status.ok()) return status;
    result->revision = current;
    result->succeeded = AllHold(request.compare, index_.keys, current, records);
    const std::vector<Op>& branch = result->succeeded ? request.success : request.failure;
    result->responses.resize(branch.size());
    oldest = current;
    for (std::size_t i = 0; i < branch.size(); ++i) {
      const auto& range = std::get<RangeRequest>(branch[i].request);
      if (range.revision != 0) {
        absl::Status status = CheckReadable(range.revision, current, CompactedRevision());
        if (!status.ok()) return status;
      }
      const Revision at = range.revision > 0 ? range.revision : current;
      oldest = std::min(oldest, at);
      auto& range_result = result->responses[i].result.emplace<RangeResult>();
      range_result.revision = current;
      RangeReader& reader = readers.emplace_back(range, at, CountFor(at, current), records, &range_result);
      pinned |= !reader.Collect(index_.keys, kEntriesPerLockMax);
    }
    if (pinned) pins_.Add(oldest);
  }
  for (RangeReader& reader : readers) CollectRest(&reader);
  if (pinned) pins_.Remove(oldest);
  for (RangeReader& reader : readers) {
    if (absl::Status status = reader.Finish(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StoreImpl::ReadLog(Revision from, absl::FunctionRef<bool(const LogRecord&)> visit) {
  // Before the snapshot, which then holds all of it.
  const Revision current = CurrentRevision();
  absl::StatusOr<RevisionLog::Snapshot> snapshot = log_->Read();
  if (!snapshot.ok()) return snapshot.status();
  // After the snapshot, from which a later compaction takes nothing.
  if (from < CompactedRevision()) return CompactedError();
  absl::Status malformed;
  const auto visit_record = [&](RevisionKey key, std::string_view bytes) {
    if (key.main > current) return false;
    LogRecord record;
    if (DecodeRecord(key, bytes, &record)) return visit(record);
    malformed = absl::DataLossError("storage: a record of the log is malformed");
    return false;
  };
  const absl::Status status = snapshot->Scan({std::max<Revision>(from, 0), 0}, visit_record);
  return status.ok() ? malformed : status;
}

}  // namespace kvist::kv
