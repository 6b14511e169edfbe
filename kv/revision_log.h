// The revision log and the small state, in LMDB: the truth that the index is built from.
//
// Database "log": one record for each modification of a key, always appended.
//   key    main revision (8 bytes, big-endian) . sub revision (4 bytes, big-endian)
//   value  kind (1 byte: 1 put, 2 delete)
//          commit time (8 bytes, little-endian, unix nanoseconds)
//          actor (4 bytes, little-endian; its name is state "actor/<decimal>", 0 has none)
//          mvccpb.KeyValue (to the end, fields ordered as kv/key_value.h says)
// Database "state": name -> value, numbers as 8 bytes little-endian. Names below. What must be atomic with
// records is written in the same Batch.
//
// The file format is version kFormatVersion. Every LMDB table and key is known in this room only here.
//
// It must not know the index or requests.

#ifndef KVIST_KV_REVISION_LOG_H_
#define KVIST_KV_REVISION_LOG_H_

#include <lmdb.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kv/key_entry.h"
#include "kv/store.h"
#include "kv/types.h"

namespace kvist::kv {

inline constexpr std::int64_t kFormatVersion = 1;

// Names in the state database.
inline constexpr std::string_view kFormatState = "format";
inline constexpr std::string_view kOpenCountState = "open_count";
inline constexpr std::string_view kCompactedState = "compacted";
inline constexpr std::string_view kCompactionDoneState = "compaction_done";
inline constexpr std::string_view kActorStatePrefix = "actor/";

// Appends what stands before the KeyValue in a record.
void AppendRecordHeader(bool tombstone, std::int64_t commit_unix_nanos, std::uint32_t actor,
                        std::string* out);
inline constexpr std::size_t kRecordHeaderBytes = 13;

// Decodes a record but for what lies inside its KeyValue; sets record->key all the same. False if malformed.
[[nodiscard]] bool DecodeRecord(RevisionKey key, std::string_view bytes, LogRecord* record);

// Threads: Read may be called from any thread; a Snapshot is used by one thread at a time. One Batch at a
// time exists.
class RevisionLog {
 public:
  // Opens or creates the files in options.directory and takes the directory's lock. Errors as Store::Open.
  static absl::StatusOr<std::unique_ptr<RevisionLog>> Open(const StoreOptions& options);
  ~RevisionLog();
  RevisionLog(const RevisionLog&) = delete;
  RevisionLog& operator=(const RevisionLog&) = delete;

 private:
  struct Reader;

 public:
  // The log as it was when Read returned. Pins the pages it sees, so that the file can grow: keep it short.
  // Views it hands out end with it.
  class Snapshot {
   public:
    Snapshot() = default;
    Snapshot(Snapshot&& other) noexcept;
    Snapshot& operator=(Snapshot&& other) noexcept;
    ~Snapshot();

    [[nodiscard]] bool valid() const { return reader_ != nullptr; }

    // The record's bytes; nothing if there is no such record.
    [[nodiscard]] std::optional<std::string_view> Get(RevisionKey key) const;

    // Visits records in order from `from` on until `visit` returns false.
    absl::Status Scan(RevisionKey from, absl::FunctionRef<bool(RevisionKey, std::string_view)> visit) const;

    // Visits the state entries whose name starts with `prefix`.
    absl::Status ScanState(std::string_view prefix,
                           absl::FunctionRef<void(std::string_view, std::string_view)> visit) const;
    [[nodiscard]] std::optional<std::int64_t> GetNumber(std::string_view name) const;

   private:
    friend class RevisionLog;
    Snapshot(RevisionLog* log, Reader* reader) : log_(log), reader_(reader) {}
    RevisionLog* log_ = nullptr;
    Reader* reader_ = nullptr;
  };

  // One LMDB transaction of writes. Without Commit it leaves no trace.
  class Batch {
   public:
    Batch(Batch&& other) noexcept;
    Batch& operator=(Batch&&) = delete;
    ~Batch();

    // REQUIRES: `key` is above every key in the log.
    absl::Status Append(RevisionKey key, std::string_view record);
    absl::Status Remove(RevisionKey key);  // ok if it is not there
    absl::Status PutState(std::string_view name, std::string_view value);
    absl::Status PutNumber(std::string_view name, std::int64_t value);
    // Makes it durable (unless opened without sync). After an error nothing of it was written.
    absl::Status Commit();

   private:
    friend class RevisionLog;
    Batch(RevisionLog* log, MDB_txn* txn) : log_(log), txn_(txn) {}
    RevisionLog* log_;
    MDB_txn* txn_;
    MDB_cursor* cursor_ = nullptr;  // on the log; freed by LMDB with the transaction
  };

  absl::StatusOr<Snapshot> Read();
  absl::StatusOr<Batch> Begin();

  // Sets the two file sizes of `*stats`.
  absl::Status FileSizes(StoreStats* stats);

 private:
  struct EnvCloser {
    void operator()(MDB_env* env) const { mdb_env_close(env); }
  };

  RevisionLog() = default;
  absl::Status OpenEnvironment(const StoreOptions& options);
  absl::Status OpenDatabases(const StoreOptions& options);
  absl::Status CheckFormat(const StoreOptions& options);
  void Release(Reader* reader);
  [[nodiscard]] bool DiskIsFull() const;

  // A read transaction is costly to begin and cheap to renew: idle ones wait here. Each thread starts to
  // look at a slot of its own, so that two rarely meet.
  static constexpr std::size_t kIdleReaderMax = 16;

  std::string directory_;
  int lock_fd_ = -1;
  std::unique_ptr<MDB_env, EnvCloser> env_;
  MDB_dbi log_dbi_ = 0;
  MDB_dbi state_dbi_ = 0;
  std::array<std::atomic<Reader*>, kIdleReaderMax> idle_ = {};
};

}  // namespace kvist::kv

#endif  // KVIST_KV_REVISION_LOG_H_
