// Finds the watchers of a key: a hash table for those of single keys, an interval tree for the others.

#ifndef KVIST_WATCH_WATCHER_INDEX_H_
#define KVIST_WATCH_WATCHER_INDEX_H_

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "watch/interval_tree.h"
#include "watch/watcher.h"

namespace kvist::watch {

// A set of watchers; does not own them. A watcher is in one index at most, which uses its `node` and
// `slot`. Used by one thread at a time.
class WatcherIndex {
 public:
  [[nodiscard]] bool empty() const { return single_.empty() && ranges_.empty(); }

  void Add(Watcher* watcher);

  // `watcher` is in this index.
  void Remove(Watcher* watcher);

  // Calls `visit(Watcher*)` for each watcher whose range holds `key`, in no order. The index must not be
  // changed meanwhile.
  template <typename Visit>
  void VisitWatchersOf(std::string_view key, Visit&& visit) const {
    const auto visit_group = [&visit](const WatcherGroup& group) {
      for (Watcher* watcher : group) visit(watcher);
    };
    if (!single_.empty()) {
      const auto found = single_.find(absl::string_view(key.data(), key.size()));
      if (found != single_.end()) visit_group(found->second);
    }
    ranges_.VisitContaining(key, visit_group);
  }

 private:
  absl::flat_hash_map<std::string, WatcherGroup> single_;
  IntervalTree<WatcherGroup> ranges_;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_WATCHER_INDEX_H_
