// An order-statistics B+tree over key entries: seeks, walks in key order, and tells how many live keys
// lie before a key, each in O(log n).
//
// Leaves keep a bit for each entry that says whether its key is alive, inner nodes the number of live
// keys below each child. A node is removed when it becomes empty and not merged before (Johnson and
// Shasha, "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half", 1989).
//
// Invariants: keys ascend along the leaves; low[i] of an inner node, i > 0, is at most the first key
// below child i and above every key below child i-1; live[i] is the number of live bits below child i.

#ifndef KVIST_KV_COUNTED_TREE_H_
#define KVIST_KV_COUNTED_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key_entry.h"

namespace kvist::kv {

// Entries are borrowed: each must stay, with the same key, while it is in the tree. Not thread-safe; const
// methods may run concurrently with one another.
class CountedTree {
 private:
  struct Leaf;
  struct Inner;

 public:
  // A place in the walk. Any change of the tree invalidates it.
  class Cursor {
   public:
    [[nodiscard]] bool valid() const { return leaf_ != nullptr; }
    // REQUIRES: valid().
    [[nodiscard]] KeyEntry* entry() const;
    void Next();

   private:
    friend class CountedTree;
    Cursor(const Leaf* leaf, int position) : leaf_(leaf), position_(position) {}
    const Leaf* leaf_;
    int position_;
  };

  CountedTree();
  ~CountedTree();
  CountedTree(const CountedTree&) = delete;
  CountedTree& operator=(const CountedTree&) = delete;

  // REQUIRES: no entry with this key is in the tree.
  void Insert(KeyEntry* entry, bool alive);
  // REQUIRES: the entry is in the tree.
  void Erase(const KeyEntry* entry);
  // Counts the entry as alive or not. REQUIRES: it is in the tree, counted otherwise.
  void SetAlive(const KeyEntry* entry, bool alive);

  // Fills an empty tree with entries in ascending order of key, alive as they say themselves.
  void BulkLoad(const std::vector<KeyEntry*>& sorted);

  // The first entry whose key is >= `key`.
  [[nodiscard]] Cursor Seek(std::string_view key) const;

  // How many live keys are < `key`.
  [[nodiscard]] std::int64_t LiveBefore(std::string_view key) const;
  [[nodiscard]] std::int64_t live() const { return live_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  // The right half of a node that was split; node is nullptr if it was not.
  struct Split {
    void* node = nullptr;
    std::int64_t live = 0;
    std::string low;
  };

  Split InsertBelow(void* node, int height, KeyEntry* entry, bool alive);
  static Split InsertIntoLeaf(Leaf* leaf, KeyEntry* entry, bool alive);
  static Split InsertChild(Inner* inner, int position, Split child);
  // Returns whether the node became empty and was freed.
  bool EraseBelow(void* node, int height, const KeyEntry* entry, bool* was_alive);
  static bool EraseFromLeaf(Leaf* leaf, const KeyEntry* entry, bool* was_alive);
  void AdjustLive(const KeyEntry* entry, bool alive);
  static void FreeBelow(void* node, int height);

  void* root_;
  int height_ = 0;  // of the root; leaves are at 0
  std::int64_t live_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_COUNTED_TREE_H_
