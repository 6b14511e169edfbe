#include "bench/support/scratch.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

namespace kvist::bench {
namespace {

constexpr std::int64_t kPutsPerTxn = 128;

std::filesystem::path ScratchRoot() {
  const char* chosen = getenv("KVIST_BENCH_DIR");
  if (chosen != nullptr) return chosen;
  return std::filesystem::temp_directory_path();
}

// A flush to memory costs nothing, and so says nothing.
void WarnIfInMemory(const std::string& path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0 || info.f_type != TMPFS_MAGIC) return;
  std::fprintf(stderr,
               "# %s is in memory (tmpfs): _Durable figures mean nothing there. "
               "Set KVIST_BENCH_DIR to a directory on a disk.\n",
               path.c_str());
}

}  // namespace

void Die(std::string_view doing, std::string_view why) {
  std::fprintf(stderr, "benchmark: %.*s: %.*s\n", static_cast<int>(doing.size()), doing.data(),
               static_cast<int>(why.size()), why.data());
  std::exit(1);
}

ScratchDirectory::ScratchDirectory() : path_(ScratchRoot() / "kvist-bench-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) Die("making " + path_, strerror(errno));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // what is left is rubbish in a directory for rubbish
  std::filesystem::remove_all(path_, ignored);
}

void Key::Set(std::int64_t n) {
  for (std::size_t i = bytes_.size(); i-- > bytes_.size() - 9; n /= 10) {
    bytes_[i] = static_cast<char>('0' + n % 10);
  }
}

std::string_view Value() {
  static const std::string value(kValueBytes, 'v');
  return value;
}

ScratchStore::ScratchStore(Sync sync) : sync_(sync) {
  if (sync_ == Sync::kDurable) WarnIfInMemory(directory_.path());
  Open();
}

void ScratchStore::Open() {
  absl::StatusOr<std::unique_ptr<kv::Store>> store =
      kv::Store::Open({.directory = directory_.path(), .sync = sync_ == Sync::kDurable});
  if (!store.ok()) Die("opening a store", store.status().ToString());
  store_ = *std::move(store);
}

void ScratchStore::Load(std::int64_t first, std::int64_t end) {
  while (first < end) {
    const std::int64_t txn_end = std::min(end, first + kPutsPerTxn);
    std::vector<Key> keys;
    keys.reserve(kPutsPerTxn);
    kv::TxnRequest txn;
    for (; first < txn_end; ++first) {
      keys.emplace_back(first);
      txn.success.push_back({kv::PutRequest{.key = keys.back().view(), .value = Value()}});
    }
    const absl::Status status = store_->Txn(txn).status();
    if (!status.ok()) Die("loading a store", status.ToString());
  }
}

}  // namespace kvist::bench
