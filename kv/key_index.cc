#include "kv/key_index.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace kvist::kv {

std::size_t KeyIndex::Hash::operator()(std::string_view key) const {
  return absl::Hash<absl::string_view>()(absl::string_view(key.data(), key.size()));
}

KeyEntry* KeyIndex::Find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->get();
}

KeyIndex::Change KeyIndex::Apply(std::string_view key, KeyEntry* entry, const KeyState& state) {
  const bool alive = !state.newest.tombstone;
  if (entry == nullptr) {
    KeyEntry::Owner owner = KeyEntry::New(key, state);
    entry = owner.get();
    entries_.insert(std::move(owner));
    tree_.Insert(entry, alive);
    if (alive) CountInFlight(entry, 1);
    return {entry, true, {}};
  }
  const Change change = {entry, false, entry->state()};
  const bool was_alive = entry->alive();
  entry->Push(state);
  if (was_alive != alive) {
    tree_.SetAlive(entry, alive);
    CountInFlight(entry, alive ? 1 : -1);
  }
  return change;
}

void KeyIndex::Undo(const Change& change) {
  const bool was_alive = change.entry->alive();
  if (change.created) {
    in_flight_.erase(change.entry->key());
    Remove(change.entry);
    return;
  }
  change.entry->Pop(change.previous);
  if (was_alive == change.entry->alive()) return;
  tree_.SetAlive(change.entry, !was_alive);
  CountInFlight(change.entry, was_alive ? -1 : 1);
}

void KeyIndex::Remove(KeyEntry* entry) {
  tree_.Erase(entry);
  entries_.erase(entries_.find(entry->key()));
}

std::int64_t KeyIndex::CountNewest(const KeyRange& range) const {
  if (range.unbounded) return tree_.live() - tree_.LiveBefore(range.begin);
  if (range.end <= range.begin) return 0;
  return tree_.LiveBefore(range.end) - tree_.LiveBefore(range.begin);
}

std::int64_t KeyIndex::CountCommitted(const KeyRange& range) const {
  std::int64_t count = CountNewest(range);
  for (auto it = in_flight_.lower_bound(range.begin); it != in_flight_.end(); ++it) {
    if (range.EndsBefore(it->first)) break;
    count -= it->second;
  }
  return count;
}

void KeyIndex::Load(std::string_view key, const KeyState& state) {
  if (KeyEntry* entry = Find(key)) {
    entry->Push(state);
  } else {
    entries_.insert(KeyEntry::New(key, state));
  }
}

void KeyIndex::FinishLoading() {
  std::vector<KeyEntry*> sorted;
  sorted.reserve(entries_.size());
  for (const KeyEntry::Owner& entry : entries_) sorted.push_back(entry.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const KeyEntry* a, const KeyEntry* b) { return a->key() < b->key(); });
  tree_.BulkLoad(sorted);
}

bool KeyIndex::CompactSome(Revision at, int max_keys, std::string* next,
                           absl::FunctionRef<void(RevisionKey)> removed) {
  std::vector<KeyEntry*> gone;
  CountedTree::Cursor cursor = tree_.Seek(*next);
  for (int i = 0; i < max_keys && cursor.valid(); ++i, cursor.Next()) {
    if (cursor.entry()->Compact(at, removed)) gone.push_back(cursor.entry());
  }
  const bool more = cursor.valid();
  if (more) *next = std::string(cursor.entry()->key());
  for (KeyEntry* entry : gone) Remove(entry);
  return more;
}

}  // namespace kvist::kv
