#include "kv/revision_log.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kv/errors.h"
#include "kv/key_value.h"

namespace kvist::kv {
namespace {

constexpr unsigned kReaderMax = 4096;  // 64 bytes of shared memory each
constexpr mode_t kFileMode = 0600;

constexpr char kPutKind = 1;
constexpr char kDeleteKind = 2;

constexpr std::size_t kRevisionKeyBytes = 12;
using RevisionKeyBytes = std::array<char, kRevisionKeyBytes>;

template <typename Integer>
void StoreBytes(Integer value, char* out) {
  std::memcpy(out, &value, sizeof(value));
}

template <typename Integer>
Integer LoadBytes(const char* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

RevisionKeyBytes EncodeRevisionKey(RevisionKey key) {
  RevisionKeyBytes bytes;
  StoreBytes(htobe64(static_cast<std::uint64_t>(key.main)), bytes.data());
  StoreBytes(htobe32(key.sub), bytes.data() + 8);
  return bytes;
}

RevisionKey DecodeRevisionKey(const MDB_val& bytes) {
  const char* data = static_cast<const char*>(bytes.mv_data);
  return {static_cast<Revision>(be64toh(LoadBytes<std::uint64_t>(data))),
          be32toh(LoadBytes<std::uint32_t>(data + 8))};
}

// The order of the keys' bytes, which LMDB would find a byte at a time.
int CompareRevisionKeys(const MDB_val* a, const MDB_val* b) {
  const RevisionKey left = DecodeRevisionKey(*a);
  const RevisionKey right = DecodeRevisionKey(*b);
  if (left == right) return 0;
  return left < right ? -1 : 1;
}

std::string_view View(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// LMDB takes pointers to non-const and does not write through those of keys and of values put.
MDB_val Value(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

absl::Status StorageError(int code, std::string_view what) {
  if (code == MDB_SUCCESS) return absl::OkStatus();
  if (code == MDB_MAP_FULL || code == ENOSPC || code == EDQUOT) return NoSpaceError();
  const std::string text =
      absl::StrCat("storage: ", absl::string_view(what.data(), what.size()), ": ", mdb_strerror(code));
  if (code == EACCES || code == EROFS || code == EPERM) return absl::PermissionDeniedError(text);
  if (code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND) {
    return absl::DataLossError(text);
  }
  return absl::UnavailableError(text);
}

// Creates the directory if need be and locks it against other processes. Sets `*fd`.
absl::Status LockDirectory(const std::string& directory, int* fd) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("data directory ", directory, " cannot be created: ", error.message()));
  }
  chmod(directory.c_str(), 0700);
  const std::string path = absl::StrCat(directory, "/LOCK");
  *fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (*fd < 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("data directory ", directory, " cannot be written: ", path, ": ", std::strerror(errno)));
  }
  if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("data directory ", directory,
                     " is in use by another kvist process; stop it, or choose "
                     "another directory"));
  }
  return absl::OkStatus();
}

}  // namespace

void AppendRecordHeader(bool tombstone, std::int64_t commit_unix_nanos, std::uint32_t actor,
                        std::string* out) {
  std::array<char, kRecordHeaderBytes> header;
  header[0] = tombstone ? kDeleteKind : kPutKind;
  StoreBytes(htole64(static_cast<std::uint64_t>(commit_unix_nanos)), header.data() + 1);
  StoreBytes(htole32(actor), header.data() + 9);
  out->append(header.data(), header.size());
}

bool DecodeRecord(RevisionKey key, std::string_view bytes, LogRecord* record) {
  if (bytes.size() < kRecordHeaderBytes) return false;
  if (bytes[0] != kPutKind && bytes[0] != kDeleteKind) return false;
  record->revision = key.main;
  record->sub_revision = key.sub;
  record->tombstone = bytes[0] == kDeleteKind;
  record->commit_unix_nanos = static_cast<std::int64_t>(le64toh(LoadBytes<std::uint64_t>(bytes.data() + 1)));
  record->actor = le32toh(LoadBytes<std::uint32_t>(bytes.data() + 9));
  record->key_value = bytes.substr(kRecordHeaderBytes);
  return DecodeKey(record->key_value, &record->key);
}

// A renewable read transaction, with a cursor on the log.
struct RevisionLog::Reader {
  MDB_txn* txn = nullptr;
  MDB_cursor* cursor = nullptr;

  ~Reader() {
    if (cursor != nullptr) mdb_cursor_close(cursor);
    if (txn != nullptr) mdb_txn_abort(txn);
  }
};

RevisionLog::~RevisionLog() {
  for (std::atomic<Reader*>& slot : idle_) delete slot.load();
  env_.reset();
  if (lock_fd_ >= 0) close(lock_fd_);
}

absl::StatusOr<std::unique_ptr<RevisionLog>> RevisionLog::Open(const StoreOptions& options) {
  std::unique_ptr<RevisionLog> log(new RevisionLog);
  log->directory_ = options.directory;
  absl::Status status = LockDirectory(options.directory, &log->lock_fd_);
  if (status.ok()) status = log->OpenEnvironment(options);
  if (status.ok()) status = log->OpenDatabases(options);
  if (status.ok()) status = log->CheckFormat(options);
  if (!status.ok()) return status;
  return log;
}

absl::Status RevisionLog::OpenEnvironment(const StoreOptions& options) {
  MDB_env* env = nullptr;
  if (int rc = mdb_env_create(&env); rc != 0) return StorageError(rc, "create environment");
  env_.reset(env);
  mdb_env_set_maxdbs(env, 4);
  mdb_env_set_maxreaders(env, kReaderMax);
  mdb_env_set_mapsize(env, options.map_bytes);
  // NOTLS: a snapshot belongs to whoever holds it, not to a thread. NORDAHEAD: reads are scattered.
  // NOMEMINIT: pages are written whole before they are read.
  const unsigned flags =
      MDB_NOTLS | MDB_NORDAHEAD | MDB_NOMEMINIT | (options.sync ? 0U : MDB_NOSYNC | MDB_WRITEMAP);
  const int rc = mdb_env_open(env, options.directory.c_str(), flags, kFileMode);
  return StorageError(rc, absl::StrCat("open ", options.directory));
}

absl::Status RevisionLog::OpenDatabases(const StoreOptions& options) {
  MDB_txn* txn = nullptr;
  if (int rc = mdb_txn_begin(env_.get(), nullptr, 0, &txn); rc != 0) {
    return StorageError(rc, absl::StrCat("open ", options.directory));
  }
  int rc = mdb_dbi_open(txn, "log", MDB_CREATE, &log_dbi_);
  if (rc == 0) rc = mdb_set_compare(txn, log_dbi_, CompareRevisionKeys);
  if (rc == 0) rc = mdb_dbi_open(txn, "state", MDB_CREATE, &state_dbi_);
  if (rc != 0) {
    mdb_txn_abort(txn);
    return StorageError(rc, absl::StrCat("open databases in ", options.directory));
  }
  return StorageError(mdb_txn_commit(txn), absl::StrCat("create databases in ", options.directory));
}

absl::Status RevisionLog::CheckFormat(const StoreOptions& options) {
  std::optional<std::int64_t> format;
  {
    absl::StatusOr<Snapshot> snapshot = Read();
    if (!snapshot.ok()) return snapshot.status();
    format = snapshot->GetNumber(kFormatState);
  }
  if (format.has_value() && *format > kFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("data directory ", options.directory, " has format ",
                                                      *format, ", this kvist reads up to format ",
                                                      kFormatVersion, "; use a newer kvist"));
  }
  if (format.has_value()) return absl::OkStatus();
  absl::StatusOr<Batch> batch = Begin();
  if (!batch.ok()) return batch.status();
  const absl::Status status = batch->PutNumber(kFormatState, kFormatVersion);
  return status.ok() ? batch->Commit() : status;
}

absl::StatusOr<RevisionLog::Snapshot> RevisionLog::Read() {
  const std::size_t first = std::hash<std::thread::id>()(std::this_thread::get_id());
  for (std::size_t i = 0; i < kIdleReaderMax; ++i) {
    std::atomic<Reader*>& slot = idle_[(first + i) % kIdleReaderMax];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    Reader* reader = slot.exchange(nullptr, std::memory_order_acquire);
    if (reader == nullptr) continue;
    int rc = mdb_txn_renew(reader->txn);
    if (rc == 0) rc = mdb_cursor_renew(reader->txn, reader->cursor);
    if (rc == 0) return Snapshot(this, reader);
    delete reader;
    return StorageError(rc, "renew read transaction");
  }
  auto reader = std::make_unique<Reader>();
  int rc = mdb_txn_begin(env_.get(), nullptr, MDB_RDONLY, &reader->txn);
  if (rc == 0) rc = mdb_cursor_open(reader->txn, log_dbi_, &reader->cursor);
  if (rc != 0) return StorageError(rc, "begin read transaction");
  return Snapshot(this, reader.release());
}

void RevisionLog::Release(Reader* reader) {
  mdb_txn_reset(reader->txn);
  const std::size_t first = std::hash<std::thread::id>()(std::this_thread::get_id());
  for (std::size_t i = 0; i < kIdleReaderMax; ++i) {
    Reader* empty = nullptr;
    if (idle_[(first + i) % kIdleReaderMax].compare_exchange_strong(empty, reader, std::memory_order_release,
                                                                    std::memory_order_relaxed)) {
      return;
    }
  }
  delete reader;
}

RevisionLog::Snapshot::Snapshot(Snapshot&& other) noexcept
    : log_(other.log_), reader_(std::exchange(other.reader_, nullptr)) {}

RevisionLog::Snapshot& RevisionLog::Snapshot::operator=(Snapshot&& other) noexcept {
  std::swap(log_, other.log_);
  std::swap(reader_, other.reader_);
  return *this;
}

RevisionLog::Snapshot::~Snapshot() {
  if (reader_ != nullptr) log_->Release(reader_);
}

std::optional<std::string_view> RevisionLog::Snapshot::Get(RevisionKey key) const {
  RevisionKeyBytes bytes = EncodeRevisionKey(key);
  MDB_val lmdb_key = {bytes.size(), bytes.data()};
  MDB_val value;
  if (mdb_cursor_get(reader_->cursor, &lmdb_key, &value, MDB_SET_KEY) != 0) return std::nullopt;
  return View(value);
}

absl::Status RevisionLog::Snapshot::Scan(RevisionKey from,
                                         absl::FunctionRef<bool(RevisionKey, std::string_view)> visit) const {
  RevisionKeyBytes bytes = EncodeRevisionKey(from);
  MDB_val key = {bytes.size(), bytes.data()};
  MDB_val value;
  int rc = mdb_cursor_get(reader_->cursor, &key, &value, MDB_SET_RANGE);
  while (rc == 0 && visit(DecodeRevisionKey(key), View(value))) {
    rc = mdb_cursor_get(reader_->cursor, &key, &value, MDB_NEXT);
  }
  return rc == MDB_NOTFOUND ? absl::OkStatus() : StorageError(rc, "scan log");
}

absl::Status RevisionLog::Snapshot::ScanState(
    std::string_view prefix, absl::FunctionRef<void(std::string_view, std::string_view)> visit) const {
  MDB_cursor* cursor = nullptr;
  int rc = mdb_cursor_open(reader_->txn, log_->state_dbi_, &cursor);
  if (rc != 0) return StorageError(rc, "scan state");
  MDB_val name = Value(prefix);
  MDB_val value;
  for (rc = mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE); rc == 0;
       rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) {
    if (!View(name).starts_with(prefix)) break;
    visit(View(name), View(value));
  }
  mdb_cursor_close(cursor);
  return rc == MDB_NOTFOUND ? absl::OkStatus() : StorageError(rc, "scan state");
}

std::optional<std::int64_t> RevisionLog::Snapshot::GetNumber(std::string_view name) const {
  MDB_val key = Value(name);
  MDB_val value;
  if (mdb_get(reader_->txn, log_->state_dbi_, &key, &value) != 0) return std::nullopt;
  if (value.mv_size != sizeof(std::int64_t)) return std::nullopt;
  return static_cast<std::int64_t>(
      le64toh(LoadBytes<std::uint64_t>(static_cast<const char*>(value.mv_data))));
}

absl::StatusOr<RevisionLog::Batch> RevisionLog::Begin() {
  MDB_txn* txn = nullptr;
  if (int rc = mdb_txn_begin(env_.get(), nullptr, 0, &txn); rc != 0) {
    return StorageError(rc, "begin write transaction");
  }
  return Batch(this, txn);
}

RevisionLog::Batch::Batch(Batch&& other) noexcept
    : log_(other.log_), txn_(std::exchange(other.txn_, nullptr)), cursor_(other.cursor_) {}

RevisionLog::Batch::~Batch() {
  if (txn_ != nullptr) mdb_txn_abort(txn_);
}

absl::Status RevisionLog::Batch::Append(RevisionKey key, std::string_view record) {
  if (cursor_ == nullptr) {
    if (int rc = mdb_cursor_open(txn_, log_->log_dbi_, &cursor_); rc != 0) return StorageError(rc, "append");
  }
  RevisionKeyBytes bytes = EncodeRevisionKey(key);
  MDB_val lmdb_key = {bytes.size(), bytes.data()};
  MDB_val value = Value(record);
  return StorageError(mdb_cursor_put(cursor_, &lmdb_key, &value, MDB_APPEND), "append");
}

absl::Status RevisionLog::Batch::Remove(RevisionKey key) {
  RevisionKeyBytes bytes = EncodeRevisionKey(key);
  MDB_val lmdb_key = {bytes.size(), bytes.data()};
  const int rc = mdb_del(txn_, log_->log_dbi_, &lmdb_key, nullptr);
  return rc == MDB_NOTFOUND ? absl::OkStatus() : StorageError(rc, "remove");
}

absl::Status RevisionLog::Batch::PutState(std::string_view name, std::string_view value) {
  MDB_val lmdb_key = Value(name);
  MDB_val lmdb_value = Value(value);
  return StorageError(mdb_put(txn_, log_->state_dbi_, &lmdb_key, &lmdb_value, 0), "put state");
}

absl::Status RevisionLog::Batch::PutNumber(std::string_view name, std::int64_t value) {
  std::array<char, sizeof(value)> bytes;
  StoreBytes(htole64(static_cast<std::uint64_t>(value)), bytes.data());
  return PutState(name, {bytes.data(), bytes.size()});
}

absl::Status RevisionLog::Batch::Commit() {
  const int rc = mdb_txn_commit(std::exchange(txn_, nullptr));
  // LMDB calls a short write an I/O error; it is one by a full disk if there is no space left.
  if (rc == EIO && log_->DiskIsFull()) return NoSpaceError();
  return StorageError(rc, "commit");
}

bool RevisionLog::DiskIsFull() const {
  constexpr std::uint64_t kFullBelowBytes = std::uint64_t{1} << 20;
  struct statvfs disk;
  if (statvfs(directory_.c_str(), &disk) != 0) return false;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize < kFullBelowBytes;
}

absl::Status RevisionLog::FileSizes(StoreStats* stats) {
  absl::StatusOr<Snapshot> snapshot = Read();
  if (!snapshot.ok()) return snapshot.status();
  MDB_envinfo info;
  MDB_stat page;
  int rc = mdb_env_info(env_.get(), &info);
  if (rc == 0) rc = mdb_env_stat(env_.get(), &page);
  // LMDB's free list is its database 0: each value is a count, followed by that many page numbers.
  MDB_cursor* cursor = nullptr;
  if (rc == 0) rc = mdb_cursor_open(snapshot->reader_->txn, 0, &cursor);
  if (rc != 0) return StorageError(rc, "stat");
  std::size_t free_pages = 0;
  MDB_val key;
  MDB_val value;
  while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    free_pages += *static_cast<const std::size_t*>(value.mv_data);
  }
  mdb_cursor_close(cursor);
  if (rc != MDB_NOTFOUND) return StorageError(rc, "stat");
  stats->file_bytes = static_cast<std::int64_t>((info.me_last_pgno + 1) * page.ms_psize);
  stats->file_bytes_in_use = stats->file_bytes - static_cast<std::int64_t>(free_pages * page.ms_psize);
  return absl::OkStatus();
}

}  // namespace kvist::kv
