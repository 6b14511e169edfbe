// The numbers under which the log keeps the names of those who write.

#ifndef KVIST_KV_ACTOR_TABLE_H_
#define KVIST_KV_ACTOR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "kv/revision_log.h"

namespace kvist::kv {

// Name may be called from any thread; the rest only by the holder of the baton.
class ActorTable {
 public:
  absl::Status Load(const RevisionLog::Snapshot& snapshot);

  // The number of `name`, a new one if it has none yet. 0 for the empty name.
  std::uint32_t Number(std::string_view name);
  // Adds the names given out since the last Saved to `*batch`.
  absl::Status Save(RevisionLog::Batch* batch) const;
  void Saved();

  [[nodiscard]] std::string Name(std::uint32_t number) const;

 private:
  mutable Mutex mu_;
  std::vector<std::string> names_ GUARDED_BY(mu_);  // number n at n - 1
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  std::size_t saved_ = 0;  // how many of the names are in the log
};

}  // namespace kvist::kv

#endif  // KVIST_KV_ACTOR_TABLE_H_
