// For tests of this room: a store in a directory of its own, and results as readable text.

#ifndef KVIST_KV_TEST_SUPPORT_H_
#define KVIST_KV_TEST_SUPPORT_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/key_value.h"
#include "kv/store.h"

namespace kvist::kv {

// A directory that is removed with its contents.
class TempDirectory {
 public:
  TempDirectory() : path_(std::filesystem::temp_directory_path() / "kvist-test-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::int64_t NowUnixNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// "key=value create=C mod=M version=V[ lease=L]".
inline std::string Describe(const KeyValueView& kv) {
  std::string text = std::string(kv.key) + "=" + std::string(kv.value) +
                     " create=" + std::to_string(kv.create_revision) +
                     " mod=" + std::to_string(kv.mod_revision) + " version=" + std::to_string(kv.version);
  if (kv.lease != 0) text += " lease=" + std::to_string(kv.lease);
  return text;
}

inline std::string Describe(std::string_view key_value_bytes) {
  KeyValueView kv;
  EXPECT_TRUE(DecodeKeyValue(key_value_bytes, &kv));
  return Describe(kv);
}

inline std::vector<std::string> DescribeAll(std::string_view fields) {
  std::vector<std::string> pairs;
  EXPECT_TRUE(ForEachKeyValue(fields, [&](const KeyValueView& kv) { pairs.push_back(Describe(kv)); }));
  return pairs;
}

inline std::vector<std::string> DescribeKeys(const RangeResult& result) {
  std::vector<std::string> keys;
  EXPECT_TRUE(ForEachKeyValue(result.kvs, [&](const KeyValueView& kv) { keys.emplace_back(kv.key); }));
  return keys;
}

class StoreFixture : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  Store& store() { return *store_; }
  [[nodiscard]] StoreOptions options() const {
    return {.directory = directory_.path(), .sync = false, .map_bytes = std::uint64_t{4} << 30};
  }

  void Close() { store_.reset(); }
  void Reopen() {
    Close();
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(options());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  // Writes that must succeed; each returns the revision of its result.
  Revision Put(std::string_view key, std::string_view value) {
    const absl::StatusOr<PutResult> result = store_->Put({.key = key, .value = value});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->revision : 0;
  }
  Revision Delete(std::string_view key, std::string_view range_end = {}) {
    const absl::StatusOr<DeleteRangeResult> result =
        store_->DeleteRange({.key = key, .range_end = range_end});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->revision : 0;
  }
  // A compaction whose space is free when this returns.
  absl::Status Compact(Revision revision) {
    return store_->Compact({.revision = revision, .physical = true}).status();
  }

  RangeResult Range(const RangeRequest& request) {
    RangeResult result;
    const absl::Status status = store_->Range(request, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }
  std::vector<std::string> Pairs(const RangeRequest& request) { return DescribeAll(Range(request).kvs); }
  std::vector<std::string> Keys(const RangeRequest& request) { return DescribeKeys(Range(request)); }

 private:
  TempDirectory directory_;
  std::unique_ptr<Store> store_;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_TEST_SUPPORT_H_
