#include "watch/catch_up.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "kv/errors.h"
#include "watch/publisher.h"

namespace kvist::watch {

void CatchUpRound::Start(kv::Revision to) {
  entries_.clear();
  index_ = WatcherIndex();
  from_ = 0;
  to_ = to;
  read_to_ = 0;
  failed_ = false;
  sets_.Start(&records_);
  records_.clear();
  bytes_.clear();
  revisions_ = 0;
  scanned_ = 0;
}

bool CatchUpRound::Takes(const Watcher& watcher) const {
  return entries_.empty() || (entries_.size() < kRoundWatchersMax && watcher.next >= from_);
}

void CatchUpRound::Add(std::shared_ptr<Watcher> watcher) {
  if (entries_.empty()) {
    from_ = watcher->next;
    read_to_ = from_ - 1;
  }
  index_.Add(watcher.get());
  entries_.push_back({.watcher = std::move(watcher), .events = nullptr, .failed = false});
}

void CatchUpRound::Read() {
  if (entries_.empty()) return;
  kv::Revision revision = 0;  // whose records are being read
  kv::Revision end = to_;
  const absl::Status status = engine_->ReadLog(from_, [&](const kv::LogRecord& record) {
    if (record.revision != revision) {
      if (record.revision > to_) return false;
      if (Enough()) {
        end = record.revision - 1;
        return false;
      }
      revision = record.revision;
    }
    Match(record);
    return true;
  });
  failed_ = !status.ok() && !kv::IsCompacted(status);
  if (status.ok()) read_to_ = end;
  Encode();
}

bool CatchUpRound::Enough() const {
  return revisions_ >= kCatchUpRevisionsMax || scanned_ >= kRoundScanMax || sets_.count() >= kRoundSetsMax ||
         sets_.bytes() >= kRoundBytesMax;
}

void CatchUpRound::Match(const kv::LogRecord& record) {
  ++scanned_;
  bool kept = false;
  index_.VisitWatchersOf(record.key, [&](Watcher* watcher) {
    if (!watcher->Wants(record)) return;
    if (!kept) Keep(record);
    kept = true;
    watcher->wanted = sets_.Extend(watcher->wanted, static_cast<std::uint32_t>(records_.size() - 1));
  });
}

void CatchUpRound::Keep(const kv::LogRecord& record) {
  if (records_.empty() || records_.back().revision != record.revision) ++revisions_;
  std::string& bytes = bytes_.emplace_back();
  bytes.reserve(record.key.size() + record.key_value.size());
  bytes.append(record.key).append(record.key_value);
  kv::LogRecord kept = record;
  kept.key = std::string_view(bytes).substr(0, record.key.size());
  kept.key_value = std::string_view(bytes).substr(record.key.size());
  records_.push_back(kept);
}

// If the log was not read to its end, what was read is not used: who has no events then has none here.
void CatchUpRound::Encode() {
  const bool usable = read_to_ >= from_;
  for (Entry& entry : entries_) {
    Watcher& watcher = *entry.watcher;
    if (usable && watcher.wanted != EventSets::kEmpty) {
      entry.events = sets_.Block(watcher.wanted, watcher.prev_kv);
      entry.failed = entry.events == nullptr;
      failed_ |= entry.failed;
    }
    watcher.wanted = EventSets::kEmpty;
  }
}

}  // namespace kvist::watch
