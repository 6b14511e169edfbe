// Revisions that long reads still need: compaction waits for those below it.

#ifndef KVIST_KV_PINS_H_
#define KVIST_KV_PINS_H_

#include <set>

#include "base/mutex.h"
#include "kv/types.h"

namespace kvist::kv {

// Threads: every method may be called from any thread.
class Pins {
 public:
  void Add(Revision revision) {
    MutexLock lock(&mu_);
    pinned_.insert(revision);
  }
  void Remove(Revision revision) {
    MutexLock lock(&mu_);
    pinned_.erase(pinned_.find(revision));
    changed_.SignalAll();
  }
  // Returns when no revision below `revision` is pinned. Reads end by themselves and soon.
  void WaitUntilNoneBelow(Revision revision) {
    MutexLock lock(&mu_);
    while (!pinned_.empty() && *pinned_.begin() < revision) changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::multiset<Revision> pinned_ GUARDED_BY(mu_);
};

}  // namespace kvist::kv

#endif  // KVIST_KV_PINS_H_
