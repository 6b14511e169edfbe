// The key index and the two revisions that say what of it may be seen, with the lock that guards them.

#ifndef KVIST_KV_SHARED_INDEX_H_
#define KVIST_KV_SHARED_INDEX_H_

#include <atomic>

#include "base/mutex.h"
#include "kv/key_index.h"
#include "kv/types.h"

namespace kvist::kv {

// Only whoever holds the write queue's baton changes anything here, with `mu` held for it: entries found
// under a shared lock therefore stay valid for the holder of the baton, and for nobody else.
//
// The revisions change with `mu` held, and may be read without it.
struct SharedIndex {
  SharedMutex mu;
  KeyIndex keys GUARDED_BY(mu);
  // Readers see nothing above this one.
  std::atomic<Revision> committed = 1;
  // Readers are refused below this one.
  std::atomic<Revision> compacted = kNeverCompacted;
};

// Whether `revision`, neither current nor future, can be read: kv/errors.h if not.
absl::Status CheckReadable(Revision revision, Revision current, Revision compacted);

}  // namespace kvist::kv

#endif  // KVIST_KV_SHARED_INDEX_H_
