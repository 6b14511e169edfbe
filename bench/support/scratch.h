// Directories, keys and stores for benchmarks.

#ifndef KVIST_BENCH_SUPPORT_SCRATCH_H_
#define KVIST_BENCH_SUPPORT_SCRATCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kv/store.h"

namespace kvist::bench {

inline constexpr std::size_t kKeyBytes = 36;
inline constexpr std::size_t kValueBytes = 256;

// A directory in $KVIST_BENCH_DIR, or else in the directory for temporary files, that is removed with its
// contents. Ends the process if it cannot be made.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The n-th key, "/registry/pods/default/pod-" and nine digits: those of the ten keys from 10n on have one
// prefix of 35 bytes, and so on.
class Key {
 public:
  explicit Key(std::int64_t n) { Set(n); }
  void Set(std::int64_t n);
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kKeyBytes> bytes_ = {"/registry/pods/default/pod-00000000"};
};

// The value that all keys have.
std::string_view Value();

// Visits the numbers from 0 below 1,000,000,000 in an order that looks random: the n-th of them.
[[nodiscard]] constexpr std::int64_t Scattered(std::int64_t n) {
  // Has no factor in common with 10^9, so no number comes twice.
  constexpr std::int64_t kStep = 618'033'989;
  return n * kStep % 1'000'000'000;
}

// A store in a directory of its own. Ends the process if it cannot be opened.
class ScratchStore {
 public:
  enum class Sync { kNone, kDurable };
  explicit ScratchStore(Sync sync = Sync::kNone);

  [[nodiscard]] kv::Store& operator*() const { return *store_; }
  [[nodiscard]] kv::Store* operator->() const { return store_.get(); }

  void Close() { store_.reset(); }
  void Open();

  // Puts the keys from `first` below `end`, in that order, some in each Txn. Ends the process on an error.
  void Load(std::int64_t first, std::int64_t end);

 private:
  ScratchDirectory directory_;
  const Sync sync_;
  std::unique_ptr<kv::Store> store_;
};

// Ends the process with a message: for what must not fail while a benchmark is prepared.
[[noreturn]] void Die(std::string_view doing, std::string_view why);

}  // namespace kvist::bench

#endif  // KVIST_BENCH_SUPPORT_SCRATCH_H_
