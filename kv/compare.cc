#include "kv/compare.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <string_view>

#include "kv/key_value.h"

namespace kvist::kv {
namespace {

bool OperatorHolds(CompareResult result, std::strong_ordering order) {
  switch (result) {
    case CompareResult::kEqual:
      return order == 0;
    case CompareResult::kGreater:
      return order > 0;
    case CompareResult::kLess:
      return order < 0;
    case CompareResult::kNotEqual:
      return order != 0;
  }
  return true;
}

std::strong_ordering Order(const Compare& compare, const KeyValueView& kv) {
  switch (compare.target) {
    case CompareTarget::kVersion:
      return kv.version <=> compare.number;
    case CompareTarget::kCreate:
      return kv.create_revision <=> compare.number;
    case CompareTarget::kMod:
      return kv.mod_revision <=> compare.number;
    case CompareTarget::kLease:
      return kv.lease <=> compare.number;
    case CompareTarget::kValue:
      return kv.value <=> compare.value;
  }
  return std::strong_ordering::equal;
}

// The parts of the pair that the comparison needs: from the index where it has them.
KeyValueView Load(const Compare& compare, const KeyEntry& entry, const Version& version,
                  RecordFinder records) {
  KeyValueView kv;
  const KeyState& state = entry.state();
  if (&version == &state.newest && compare.target != CompareTarget::kValue) {
    kv.create_revision = state.create_revision;
    kv.mod_revision = version.main;
    kv.version = state.version;
    kv.lease = state.lease;
    return kv;
  }
  const std::optional<std::string_view> bytes = records(version.revision());
  if (!bytes.has_value() || !DecodeKeyValue(*bytes, &kv)) return {};
  return kv;
}

bool HoldsForMissing(const Compare& compare) {
  if (compare.target == CompareTarget::kValue) return false;
  return OperatorHolds(compare.result, Order(compare, {}));
}

// The visible version, unless the key is deleted or younger.
const Version* AliveAt(const KeyEntry* entry, Revision at) {
  const Version* version = entry == nullptr ? nullptr : entry->VisibleAt(at);
  return version == nullptr || version->tombstone ? nullptr : version;
}

}  // namespace

bool Holds(const Compare& compare, const KeyIndex& index, Revision at, RecordFinder records) {
  const auto holds_for = [&](const KeyEntry& entry, const Version& version) {
    return OperatorHolds(compare.result, Order(compare, Load(compare, entry, version, records)));
  };
  const KeyRange range(compare.key, compare.range_end);
  if (range.single) {
    const KeyEntry* entry = index.Find(range.begin);
    const Version* version = AliveAt(entry, at);
    return version == nullptr ? HoldsForMissing(compare) : holds_for(*entry, *version);
  }
  bool empty = true;
  for (CountedTree::Cursor cursor = index.Seek(range.begin); cursor.valid(); cursor.Next()) {
    const KeyEntry& entry = *cursor.entry();
    if (range.EndsBefore(entry.key())) break;
    const Version* version = AliveAt(&entry, at);
    if (version == nullptr) continue;
    if (!holds_for(entry, *version)) return false;
    empty = false;
  }
  return !empty || HoldsForMissing(compare);
}

bool AllHold(const std::vector<Compare>& compares, const KeyIndex& index, Revision at, RecordFinder records) {
  return std::all_of(compares.begin(), compares.end(),
                     [&](const Compare& compare) { return Holds(compare, index, at, records); });
}

}  // namespace kvist::kv
