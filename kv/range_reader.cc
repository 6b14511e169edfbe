#include "kv/range_reader.h"

#include <algorithm>
#include <limits>

#include "kv/key_value.h"

namespace kvist::kv {
namespace {

constexpr int kKvsField = 2;  // of RangeResult::kvs

bool HasBounds(const RangeRequest& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 || request.min_create_revision != 0 ||
         request.max_create_revision != 0;
}

// Whether everything must be read before the limit applies. An order by key alone needs it not; a target
// without an order is sorted after the limit has cut in key order, as in etcd.
bool NeedsWholeRange(const RangeRequest& request) {
  if (HasBounds(request) || request.sort_order == SortOrder::kDescend) return true;
  return request.sort_order == SortOrder::kAscend && request.sort_target != SortTarget::kKey;
}

bool NeedsSorting(const RangeRequest& request) {
  return NeedsWholeRange(request) || request.sort_target != SortTarget::kKey;
}

std::size_t TakeMax(const RangeRequest& request) {
  if (request.count_only) return 0;
  if (request.limit <= 0 || NeedsWholeRange(request)) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(request.limit) + 1;
}

absl::Status LostRecord() {
  return absl::DataLossError("storage: a record of the log is missing or malformed");
}

}  // namespace

struct RangeReader::Pair {
  std::string_view bytes;
  KeyValueView kv;
};

RangeReader::RangeReader(const RangeRequest& request, Revision at, Count count, RecordFinder records,
                         RangeResult* result)
    : request_(request),
      range_(request.key, request.range_end),
      at_(at),
      count_(count),
      records_(records),
      result_(result),
      sorted_(NeedsSorting(request)),
      keys_from_index_(request.keys_only && !sorted_),
      take_max_(TakeMax(request)) {}

bool RangeReader::Collect(const KeyIndex& index, int max_entries) {
  if (collected_) return true;
  if (range_.single) {
    CollectSingle(index);
    collected_ = true;
  } else {
    if (!started_) StartCounting(index);
    collected_ = (take_max_ == 0 && !counting_by_walk_) || Walk(index, max_entries);
    started_ = true;
  }
  return collected_;
}

bool RangeReader::Walk(const KeyIndex& index, int max_entries) {
  CountedTree::Cursor cursor = index.Seek(started_ ? std::string_view(resume_) : range_.begin);
  for (int looked_at = 0; cursor.valid(); cursor.Next(), ++looked_at) {
    const KeyEntry& entry = *cursor.entry();
    if (range_.EndsBefore(entry.key())) return true;
    if (looked_at == max_entries) {
      resume_ = std::string(entry.key());
      return false;
    }
    if (!Visit(entry)) return true;
  }
  return true;
}

void RangeReader::CollectSingle(const KeyIndex& index) {
  const KeyEntry* entry = index.Find(range_.begin);
  const Version* version = entry == nullptr ? nullptr : entry->VisibleAt(at_);
  if (version == nullptr || version->tombstone) return;
  result_->count = request_.with_count ? 1 : 0;
  if (take_max_ > 0) Take(*entry, *version);
}

void RangeReader::StartCounting(const KeyIndex& index) {
  std::int64_t reserve = kEntriesPerLockMax;
  if (request_.with_count) {
    counting_by_walk_ = count_ == Count::kWalk;
    if (!counting_by_walk_) {
      result_->count = count_ == Count::kAtNewest ? index.CountNewest(range_) : index.CountCommitted(range_);
      reserve = result_->count;
    }
  }
  const std::size_t pairs = std::min(static_cast<std::size_t>(reserve), take_max_);
  if (keys_from_index_) {
    // A guess: keys of a range are mostly as long as its start, or somewhat longer.
    constexpr std::size_t kNumbersBytes = 40;
    result_->kvs.reserve(result_->kvs.size() + pairs * (range_.begin.size() + kNumbersBytes));
  } else {
    found_.reserve(pairs);
  }
}

bool RangeReader::Visit(const KeyEntry& entry) {
  const Version* version = entry.VisibleAt(at_);
  if (version == nullptr || version->tombstone) return true;
  if (counting_by_walk_) ++result_->count;
  if (taken_ < take_max_) Take(entry, *version);
  return counting_by_walk_ || taken_ < take_max_;
}

void RangeReader::Take(const KeyEntry& entry, const Version& version) {
  ++taken_;
  if (!keys_from_index_) {
    found_.push_back(version.revision());
  } else if (request_.limit > 0 && taken_ > static_cast<std::size_t>(request_.limit)) {
    result_->more = true;
  } else {
    AppendKeyFromIndex(entry, version);
  }
}

void RangeReader::AppendKeyFromIndex(const KeyEntry& entry, const Version& version) {
  const KeyState& state = entry.state();
  if (&version == &state.newest) {
    KeyValueView kv;
    kv.key = entry.key();
    kv.create_revision = state.create_revision;
    kv.mod_revision = version.main;
    kv.version = state.version;
    AppendFieldHeader(kKvsField, KeyValueSize(kv), &result_->kvs);
    AppendKeyValue(kv, &result_->kvs);
    return;
  }
  // An older version: what it was is known to the log alone.
  std::string_view bytes;
  if (Fetch(version.revision(), &bytes).ok()) {
    AppendField(kKvsField, Reply(bytes), &result_->kvs);
  } else {
    lost_record_ = true;
  }
}

absl::Status RangeReader::Finish() {
  if (request_.count_only) return absl::OkStatus();
  if (keys_from_index_) return lost_record_ ? LostRecord() : absl::OkStatus();
  return sorted_ ? FinishSorted() : FinishPlain();
}

absl::Status RangeReader::Fetch(RevisionKey revision, std::string_view* bytes) const {
  const std::optional<std::string_view> found = records_(revision);
  if (!found.has_value()) return LostRecord();
  *bytes = *found;
  return absl::OkStatus();
}

absl::Status RangeReader::FinishPlain() {
  if (request_.limit > 0 && found_.size() > static_cast<std::size_t>(request_.limit)) {
    found_.resize(static_cast<std::size_t>(request_.limit));
    result_->more = true;
  }
  absl::InlinedVector<std::string_view, 8> fetched(found_.size());
  std::size_t total = result_->kvs.size();
  constexpr std::size_t kFieldHeaderMax = 6;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (absl::Status status = Fetch(found_[i], &fetched[i]); !status.ok()) return status;
    total += fetched[i].size() + kFieldHeaderMax;
  }
  result_->kvs.reserve(total);
  for (const std::string_view bytes : fetched) AppendField(kKvsField, bytes, &result_->kvs);
  return absl::OkStatus();
}

absl::Status RangeReader::FinishSorted() {
  std::vector<Pair> pairs;
  pairs.reserve(found_.size());
  for (const RevisionKey revision : found_) {
    Pair pair;
    if (absl::Status status = Fetch(revision, &pair.bytes); !status.ok()) return status;
    if (!DecodeKeyValue(pair.bytes, &pair.kv)) return LostRecord();
    if (WithinBounds(pair)) pairs.push_back(pair);
  }
  Sort(&pairs);
  if (request_.limit > 0 && pairs.size() > static_cast<std::size_t>(request_.limit)) {
    pairs.resize(static_cast<std::size_t>(request_.limit));
    result_->more = true;
  }
  for (const Pair& pair : pairs) AppendField(kKvsField, Reply(pair.bytes), &result_->kvs);
  return absl::OkStatus();
}

bool RangeReader::WithinBounds(const Pair& pair) const {
  const auto within = [](Revision revision, Revision min, Revision max) {
    return (min == 0 || revision >= min) && (max == 0 || revision <= max);
  };
  return within(pair.kv.mod_revision, request_.min_mod_revision, request_.max_mod_revision) &&
         within(pair.kv.create_revision, request_.min_create_revision, request_.max_create_revision);
}

void RangeReader::Sort(std::vector<Pair>* pairs) const {
  const auto sort_by = [&](auto field) {
    // Equal ones stay in key order, whatever the direction.
    if (request_.sort_order == SortOrder::kDescend) {
      std::stable_sort(pairs->begin(), pairs->end(),
                       [&](const Pair& a, const Pair& b) { return field(b.kv) < field(a.kv); });
    } else {
      std::stable_sort(pairs->begin(), pairs->end(),
                       [&](const Pair& a, const Pair& b) { return field(a.kv) < field(b.kv); });
    }
  };
  switch (request_.sort_target) {
    case SortTarget::kKey:
      if (request_.sort_order == SortOrder::kDescend) std::reverse(pairs->begin(), pairs->end());
      return;
    case SortTarget::kVersion:
      return sort_by([](const KeyValueView& kv) { return kv.version; });
    case SortTarget::kCreate:
      return sort_by([](const KeyValueView& kv) { return kv.create_revision; });
    case SortTarget::kMod:
      return sort_by([](const KeyValueView& kv) { return kv.mod_revision; });
    case SortTarget::kValue:
      return sort_by([](const KeyValueView& kv) { return kv.value; });
  }
}

std::string_view RangeReader::Reply(std::string_view bytes) const {
  if (!request_.keys_only) return bytes;
  KeyValueView kv;
  if (!DecodeKeyValue(bytes, &kv)) return bytes;
  // etcd answers keys-only from its index, which has no leases, unless it must sort by value.
  return bytes.substr(0, request_.sort_target == SortTarget::kValue ? kv.value_offset : kv.lease_offset);
}

}  // namespace kvist::kv
