// The key index: every key the store knows, with its versions, in memory.
//
// It always holds the newest state, changes of the batch in flight included. Readers at the committed
// revision do not see those (KeyEntry::VisibleAt), and counts of the committed state are corrected by them.
//
// Point lookups go through a hash table, walks and counts through a counted B+tree.

#ifndef KVIST_KV_KEY_INDEX_H_
#define KVIST_KV_KEY_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "kv/counted_tree.h"
#include "kv/key_entry.h"
#include "kv/key_range.h"

namespace kvist::kv {

// Not thread-safe; const methods may run concurrently with one another. Entries are owned by the index and
// live until compaction or Undo removes them.
class KeyIndex {
 public:
  // What Apply did, to take it back.
  struct Change {
    KeyEntry* entry = nullptr;
    bool created = false;
    KeyState previous;  // if not created
  };

  [[nodiscard]] KeyEntry* Find(std::string_view key) const;
  [[nodiscard]] CountedTree::Cursor Seek(std::string_view key) const { return tree_.Seek(key); }

  // Makes `state` the newest of `key`, as part of the batch in flight. REQUIRES: `entry` is Find(key), and
  // the state's revision is above that of every change before.
  Change Apply(std::string_view key, KeyEntry* entry, const KeyState& state);
  // Takes a change back. REQUIRES: changes applied after it have been taken back.
  void Undo(const Change& change);
  // The batch in flight has been committed, or undone.
  void EndBatch() { in_flight_.clear(); }

  // Live keys in a range that is not a single key: newest state, or without the batch in flight.
  [[nodiscard]] std::int64_t CountNewest(const KeyRange& range) const;
  [[nodiscard]] std::int64_t CountCommitted(const KeyRange& range) const;

  [[nodiscard]] std::int64_t live() const { return tree_.live(); }
  [[nodiscard]] std::int64_t size() const { return tree_.size(); }

  // Building at open: Load in log order, then FinishLoading once. No other call before that.
  void Load(std::string_view key, const KeyState& state);
  void FinishLoading();

  // Compacts up to `max_keys` entries from `*next` on (see KeyEntry::Compact), sets `*next` to where to go
  // on, and returns false at the end of the index.
  bool CompactSome(Revision at, int max_keys, std::string* next,
                   absl::FunctionRef<void(RevisionKey)> removed);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const;
    std::size_t operator()(const KeyEntry::Owner& entry) const { return (*this)(entry->key()); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view Key(std::string_view key) { return key; }
    static std::string_view Key(const KeyEntry::Owner& entry) { return entry->key(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Key(a) == Key(b);
    }
  };

  void CountInFlight(const KeyEntry* entry, int change) { in_flight_[entry->key()] += change; }
  void Remove(KeyEntry* entry);

  absl::flat_hash_set<KeyEntry::Owner, Hash, Equal> entries_;
  CountedTree tree_;
  // For each key that the batch in flight brought to life or deleted: what it added to the live count.
  absl::btree_map<std::string_view, int> in_flight_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_KEY_INDEX_H_
