// The engine on LMDB: an appended revision log on disk, a key index in memory, one writer at a time.
//
// State on disk: see kv/revision_log.h. How writes, reads and compaction work together, and which lock
// guards what: see kv/store_impl.h.

#ifndef KVIST_KV_STORE_H_
#define KVIST_KV_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kv/engine.h"

namespace kvist::kv {

struct StoreOptions {
  // A directory of the store's own; created (mode 0700) if missing.
  std::string directory;
  // False: a commit is left to the operating system to write. It survives the end of the process, and
  // not that of the machine. For benchmarks and --unsafe-no-fsync.
  bool sync = true;
  // The size of the address range set aside for the file, which bounds it. Costs nothing until used.
  std::uint64_t map_bytes = std::uint64_t{256} << 30;
};

struct StoreStats {
  std::int64_t file_bytes = 0;         // size of the database file
  std::int64_t file_bytes_in_use = 0;  // of which not free for reuse
  std::int64_t keys = 0;               // live keys at the current revision
  std::int64_t index_keys = 0;         // keys the index holds, deleted ones not yet compacted included
};

class Store : public Engine {
 public:
  // Opens or creates the store and reads its history. Errors:
  //   FAILED_PRECONDITION  another process has it open, or its format is newer than this program's
  //   PERMISSION_DENIED    the directory cannot be created or written
  //   DATA_LOSS            a record cannot be decoded
  //   UNAVAILABLE, RESOURCE_EXHAUSTED  from the storage
  // The message names the path and says what to do.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const StoreOptions& options);

  // Finishes the batch in flight, answers what is queued with UNAVAILABLE, syncs and closes. No call may
  // be under way or follow.
  ~Store() override = default;

  // Walks the free list: costs about a microsecond for each of its records.
  virtual absl::StatusOr<StoreStats> Stats() = 0;

  // How often this store has been opened, this time included: 1 on a new one.
  [[nodiscard]] virtual std::int64_t OpenCount() const = 0;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_STORE_H_
