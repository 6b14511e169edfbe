// What the index knows of one key: its newest state, and which revisions it had before.

#ifndef KVIST_KV_KEY_ENTRY_H_
#define KVIST_KV_KEY_ENTRY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "kv/types.h"

namespace kvist::kv {

// Where a modification lies in the log.
struct RevisionKey {
  Revision main = 0;
  std::uint32_t sub = 0;

  friend auto operator<=>(const RevisionKey&, const RevisionKey&) = default;
};

struct Version {
  Revision main = 0;
  std::uint32_t sub = 0;
  bool tombstone = false;

  [[nodiscard]] RevisionKey revision() const { return {main, sub}; }
};
static_assert(sizeof(Version) == 16, "the index holds one for each version of each key");

// The newest state of a key. A tombstone's create_revision, version and lease are 0.
struct KeyState {
  Version newest;
  Revision create_revision = 0;
  std::int64_t version = 0;
  LeaseId lease = 0;
};

// One allocation: the entry, then the bytes of the key. Not thread-safe.
class KeyEntry {
 public:
  struct Deleter {
    void operator()(KeyEntry* entry) const {
      entry->~KeyEntry();
      ::operator delete(entry);
    }
  };
  using Owner = std::unique_ptr<KeyEntry, Deleter>;

  static Owner New(std::string_view key, const KeyState& state) {
    void* memory = ::operator new(sizeof(KeyEntry) + key.size());
    return Owner(new (memory) KeyEntry(key, state));
  }

  KeyEntry(const KeyEntry&) = delete;
  KeyEntry& operator=(const KeyEntry&) = delete;

  [[nodiscard]] std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes_}; }
  [[nodiscard]] const KeyState& state() const { return state_; }
  [[nodiscard]] bool alive() const { return !state_.newest.tombstone; }

  // Makes `state` the newest. REQUIRES: its revision is above the newest one.
  void Push(const KeyState& state) {
    if (older_ == nullptr) older_ = std::make_unique<std::vector<Version>>();
    older_->push_back(state_.newest);
    state_ = state;
  }

  // Takes the newest Push back; `previous` is the state before it.
  void Pop(const KeyState& previous) {
    older_->pop_back();
    state_ = previous;
  }

  // The version that a reader at `at` sees, which may be a tombstone; nullptr if the key is younger.
  [[nodiscard]] const Version* VisibleAt(Revision at) const {
    if (state_.newest.main <= at) return &state_.newest;
    if (older_ == nullptr) return nullptr;
    auto after = std::upper_bound(older_->begin(), older_->end(), at,
                                  [](Revision r, const Version& v) { return r < v.main; });
    return after == older_->begin() ? nullptr : &*(after - 1);
  }

  // Forgets the versions that no reader at `at` or later can see and calls `removed` for each. Versions
  // of revision `at` itself all stay, so that a watch from there misses nothing. Returns true if nothing
  // is left: the key was deleted before `at`, and the entry must go.
  template <typename Removed>
  bool Compact(Revision at, Removed removed) {
    if (older_ != nullptr) {
      auto keep = std::lower_bound(older_->begin(), older_->end(), at,
                                   [](const Version& v, Revision r) { return v.main < r; });
      // The newest version below `at` is what a reader at `at` sees unless one of `at` itself replaces it.
      const Version& next = keep == older_->end() ? state_.newest : *keep;
      const bool replaced = next.main <= at;
      if (!replaced && keep != older_->begin() && !(keep - 1)->tombstone) --keep;
      std::for_each(older_->begin(), keep, [&](const Version& v) { removed(v.revision()); });
      older_->erase(older_->begin(), keep);
      if (older_->empty()) older_.reset();
    }
    if (older_ != nullptr || alive() || state_.newest.main >= at) return false;
    removed(state_.newest.revision());
    return true;
  }

 private:
  KeyEntry(std::string_view key, const KeyState& state)
      : state_(state), key_bytes_(static_cast<std::uint32_t>(key.size())) {
    std::memcpy(reinterpret_cast<char*>(this + 1), key.data(), key.size());
  }
  ~KeyEntry() = default;

  KeyState state_;
  std::unique_ptr<std::vector<Version>> older_;  // ascending; null when there is none
  const std::uint32_t key_bytes_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_KEY_ENTRY_H_
