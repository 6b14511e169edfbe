#include "kv/counted_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace kvist::kv {
namespace {

constexpr int kLeafMax = 64;  // one bit each in a word
constexpr int kInnerMax = 64;
// Bulk-loaded nodes keep room, so that the first inserts after opening do not split each of them.
constexpr int kBulkFill = 56;

std::uint64_t LowBits(int count) { return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

}  // namespace

struct CountedTree::Leaf {
  int size = 0;
  std::uint64_t alive = 0;  // bit i: entries[i] is counted
  Leaf* previous = nullptr;
  Leaf* next = nullptr;
  std::array<KeyEntry*, kLeafMax> entries;

  // The place of the first entry whose key is >= `key`.
  [[nodiscard]] int LowerBound(std::string_view key) const {
    const auto* found = std::lower_bound(entries.begin(), entries.begin() + size, key,
                                         [](const KeyEntry* e, std::string_view k) { return e->key() < k; });
    return static_cast<int>(found - entries.begin());
  }
  [[nodiscard]] int Live() const { return std::popcount(alive); }
};

struct CountedTree::Inner {
  int size = 0;
  std::array<void*, kInnerMax> children;
  std::array<std::int64_t, kInnerMax> live;
  std::array<std::string, kInnerMax> low;  // low[0] is not used

  // Which child holds the keys around `key`.
  [[nodiscard]] int ChildOf(std::string_view key) const {
    const auto* found = std::upper_bound(low.begin() + 1, low.begin() + size, key,
                                         [](std::string_view k, const std::string& l) { return k < l; });
    return static_cast<int>(found - low.begin()) - 1;
  }
  [[nodiscard]] std::int64_t Live() const {
    return std::accumulate(live.begin(), live.begin() + size, std::int64_t{0});
  }
  void Place(int position, void* child, std::int64_t child_live, std::string child_low) {
    children[static_cast<std::size_t>(position)] = child;
    live[static_cast<std::size_t>(position)] = child_live;
    low[static_cast<std::size_t>(position)] = std::move(child_low);
  }
  // Moves the children from `first` on to start at `to`, of `target`, and returns how many they are.
  int MoveTail(int first, Inner* target, int to) {
    const int count = size - first;
    const auto move = [&](auto& from, auto& into) {
      if (&from == &into && to > first) {
        std::move_backward(from.begin() + first, from.begin() + size, into.begin() + to + count);
      } else {
        std::move(from.begin() + first, from.begin() + size, into.begin() + to);
      }
    };
    move(children, target->children);
    move(live, target->live);
    move(low, target->low);
    return count;
  }
};

KeyEntry* CountedTree::Cursor::entry() const { return leaf_->entries[static_cast<std::size_t>(position_)]; }

void CountedTree::Cursor::Next() {
  if (++position_ < leaf_->size) return;
  leaf_ = leaf_->next;
  position_ = 0;
}

CountedTree::CountedTree() : root_(new Leaf) {}

CountedTree::~CountedTree() { FreeBelow(root_, height_); }

void CountedTree::FreeBelow(void* node, int height) {
  if (height == 0) {
    delete static_cast<Leaf*>(node);
    return;
  }
  auto* inner = static_cast<Inner*>(node);
  for (int i = 0; i < inner->size; ++i) FreeBelow(inner->children[static_cast<std::size_t>(i)], height - 1);
  delete inner;
}

void CountedTree::Insert(KeyEntry* entry, bool alive) {
  Split split = InsertBelow(root_, height_, entry, alive);
  ++size_;
  live_ += alive ? 1 : 0;
  if (split.node == nullptr) return;
  auto* root = new Inner;
  root->size = 2;
  root->Place(0, root_, live_ - split.live, {});
  root->Place(1, split.node, split.live, std::move(split.low));
  root_ = root;
  ++height_;
}

CountedTree::Split CountedTree::InsertBelow(void* node, int height, KeyEntry* entry, bool alive) {
  if (height == 0) return InsertIntoLeaf(static_cast<Leaf*>(node), entry, alive);
  auto* inner = static_cast<Inner*>(node);
  const int position = inner->ChildOf(entry->key());
  const auto index = static_cast<std::size_t>(position);
  inner->live[index] += alive ? 1 : 0;
  Split split = InsertBelow(inner->children[index], height - 1, entry, alive);
  if (split.node == nullptr) return {};
  inner->live[index] -= split.live;
  return InsertChild(inner, position + 1, std::move(split));
}

CountedTree::Split CountedTree::InsertIntoLeaf(Leaf* leaf, KeyEntry* entry, bool alive) {
  int position = leaf->LowerBound(entry->key());
  Leaf* right = nullptr;
  Leaf* target = leaf;
  if (leaf->size == kLeafMax) {
    right = new Leaf;
    // Keys that arrive in order fill their leaves: the last leaf is cut at its end.
    const int cut = leaf->next == nullptr && position == kLeafMax ? kLeafMax : kLeafMax / 2;
    std::copy(leaf->entries.begin() + cut, leaf->entries.end(), right->entries.begin());
    right->size = kLeafMax - cut;
    right->alive = cut == kLeafMax ? 0 : leaf->alive >> cut;
    leaf->size = cut;
    leaf->alive &= LowBits(cut);
    right->previous = leaf;
    right->next = leaf->next;
    if (right->next != nullptr) right->next->previous = right;
    leaf->next = right;
    if (position > cut || cut == kLeafMax) {
      target = right;
      position -= cut;
    }
  }
  std::copy_backward(target->entries.begin() + position, target->entries.begin() + target->size,
                     target->entries.begin() + target->size + 1);
  target->entries[static_cast<std::size_t>(position)] = entry;
  const std::uint64_t below = target->alive & LowBits(position);
  const std::uint64_t above = target->alive & ~LowBits(position);
  target->alive = below | above << 1 | std::uint64_t{alive} << position;
  ++target->size;
  if (right == nullptr) return {};
  return {right, right->Live(), std::string(right->entries[0]->key())};
}

CountedTree::Split CountedTree::InsertChild(Inner* inner, int position, Split child) {
  Inner* right = nullptr;
  Inner* target = inner;
  if (inner->size == kInnerMax) {
    right = new Inner;
    const int cut = position == kInnerMax ? kInnerMax - 1 : kInnerMax / 2;
    right->size = inner->MoveTail(cut, right, 0);
    inner->size = cut;
    if (position > cut) {
      target = right;
      position -= cut;
    }
  }
  target->MoveTail(position, target, position + 1);
  target->Place(position, child.node, child.live, std::move(child.low));
  ++target->size;
  if (right == nullptr) return {};
  return {right, right->Live(), std::move(right->low[0])};
}

void CountedTree::Erase(const KeyEntry* entry) {
  bool was_alive = false;
  if (EraseBelow(root_, height_, entry, &was_alive)) {
    root_ = new Leaf;
    height_ = 0;
  }
  --size_;
  live_ -= was_alive ? 1 : 0;
  while (height_ > 0 && static_cast<Inner*>(root_)->size == 1) {
    auto* old_root = static_cast<Inner*>(root_);
    root_ = old_root->children[0];
    delete old_root;
    --height_;
  }
}

bool CountedTree::EraseBelow(void* node, int height, const KeyEntry* entry, bool* was_alive) {
  if (height == 0) return EraseFromLeaf(static_cast<Leaf*>(node), entry, was_alive);
  auto* inner = static_cast<Inner*>(node);
  const int position = inner->ChildOf(entry->key());
  const auto index = static_cast<std::size_t>(position);
  const bool freed = EraseBelow(inner->children[index], height - 1, entry, was_alive);
  inner->live[index] -= *was_alive ? 1 : 0;
  if (!freed) return false;
  inner->MoveTail(position + 1, inner, position);
  --inner->size;
  if (inner->size > 0) return false;
  delete inner;
  return true;
}

bool CountedTree::EraseFromLeaf(Leaf* leaf, const KeyEntry* entry, bool* was_alive) {
  const int position = leaf->LowerBound(entry->key());
  std::copy(leaf->entries.begin() + position + 1, leaf->entries.begin() + leaf->size,
            leaf->entries.begin() + position);
  *was_alive = (leaf->alive >> position & 1) != 0;
  const std::uint64_t below = leaf->alive & LowBits(position);
  const std::uint64_t above = leaf->alive & ~LowBits(position + 1);
  leaf->alive = below | above >> 1;
  if (--leaf->size > 0) return false;
  if (leaf->previous != nullptr) leaf->previous->next = leaf->next;
  if (leaf->next != nullptr) leaf->next->previous = leaf->previous;
  delete leaf;
  return true;
}

void CountedTree::SetAlive(const KeyEntry* entry, bool alive) {
  const std::int64_t change = alive ? 1 : -1;
  void* node = root_;
  for (int height = height_; height > 0; --height) {
    auto* inner = static_cast<Inner*>(node);
    const auto index = static_cast<std::size_t>(inner->ChildOf(entry->key()));
    inner->live[index] += change;
    node = inner->children[index];
  }
  auto* leaf = static_cast<Leaf*>(node);
  leaf->alive ^= std::uint64_t{1} << leaf->LowerBound(entry->key());
  live_ += change;
}

void CountedTree::BulkLoad(const std::vector<KeyEntry*>& sorted) {
  if (sorted.empty()) return;
  FreeBelow(root_, height_);
  std::vector<Split> level;
  Leaf* previous = nullptr;
  for (std::size_t first = 0; first < sorted.size(); first += kBulkFill) {
    auto* leaf = new Leaf;
    leaf->size = static_cast<int>(std::min<std::size_t>(kBulkFill, sorted.size() - first));
    for (int i = 0; i < leaf->size; ++i) {
      KeyEntry* entry = sorted[first + static_cast<std::size_t>(i)];
      leaf->entries[static_cast<std::size_t>(i)] = entry;
      leaf->alive |= std::uint64_t{entry->alive()} << i;
    }
    leaf->previous = previous;
    if (previous != nullptr) previous->next = leaf;
    previous = leaf;
    level.push_back({leaf, leaf->Live(), std::string(leaf->entries[0]->key())});
  }
  height_ = 0;
  for (; level.size() > 1; ++height_) {
    std::vector<Split> above;
    for (std::size_t first = 0; first < level.size(); first += kBulkFill) {
      auto* inner = new Inner;
      inner->size = static_cast<int>(std::min<std::size_t>(kBulkFill, level.size() - first));
      std::string low = level[first].low;
      for (int i = 0; i < inner->size; ++i) {
        Split& child = level[first + static_cast<std::size_t>(i)];
        inner->Place(i, child.node, child.live, std::move(child.low));
      }
      above.push_back({inner, inner->Live(), std::move(low)});
    }
    level = std::move(above);
  }
  root_ = level[0].node;
  live_ = level[0].live;
  size_ = static_cast<std::int64_t>(sorted.size());
}

CountedTree::Cursor CountedTree::Seek(std::string_view key) const {
  const void* node = root_;
  for (int height = height_; height > 0; --height) {
    const auto* inner = static_cast<const Inner*>(node);
    node = inner->children[static_cast<std::size_t>(inner->ChildOf(key))];
  }
  const auto* leaf = static_cast<const Leaf*>(node);
  const int position = leaf->LowerBound(key);
  if (position < leaf->size) return {leaf, position};
  return {leaf->next, 0};
}

std::int64_t CountedTree::LiveBefore(std::string_view key) const {
  std::int64_t before = 0;
  const void* node = root_;
  for (int height = height_; height > 0; --height) {
    const auto* inner = static_cast<const Inner*>(node);
    const int position = inner->ChildOf(key);
    before = std::accumulate(inner->live.begin(), inner->live.begin() + position, before);
    node = inner->children[static_cast<std::size_t>(position)];
  }
  const auto* leaf = static_cast<const Leaf*>(node);
  return before + std::popcount(leaf->alive & LowBits(leaf->LowerBound(key)));
}

}  // namespace kvist::kv
