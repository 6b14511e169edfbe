#include "watch/watcher_index.h"

namespace kvist::watch {
namespace {

void AddToGroup(Watcher* watcher, WatcherGroup* group) {
  watcher->slot = group->size();
  group->push_back(watcher);
}

void RemoveFromGroup(const Watcher& watcher, WatcherGroup* group) {
  Watcher* const last = group->back();
  (*group)[watcher.slot] = last;
  last->slot = watcher.slot;
  group->pop_back();
}

// The end of a range that is not a single key, by the convention of kv/types.h.
IntervalTree<WatcherGroup>::End EndOf(const std::string& range_end) {
  if (range_end == std::string_view("\0", 1)) return {.key = {}, .open = true};
  return {.key = range_end, .open = false};
}

}  // namespace

void WatcherIndex::Add(Watcher* watcher) {
  if (watcher->range_end.empty()) {
    watcher->node = nullptr;
    AddToGroup(watcher, &single_[watcher->key]);
    return;
  }
  watcher->node = ranges_.FindOrInsert(watcher->key, EndOf(watcher->range_end));
  AddToGroup(watcher, &watcher->node->value);
}

void WatcherIndex::Remove(Watcher* watcher) {
  if (watcher->node == nullptr) {
    const auto found = single_.find(watcher->key);
    RemoveFromGroup(*watcher, &found->second);
    if (found->second.empty()) single_.erase(found);
    return;
  }
  RemoveFromGroup(*watcher, &watcher->node->value);
  if (watcher->node->value.empty()) ranges_.Erase(watcher->node);
  watcher->node = nullptr;
}

}  // namespace kvist::watch
