// When the storage is full: what fails leaves no trace, what was answered stays, reads go on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kv/errors.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

using ::testing::ElementsAre;

class SpaceTest : public ::testing::Test {
 protected:
  void Open() {
    store_.reset();
    store_ =
        *Store::Open({.directory = directory_.path(), .sync = false, .map_bytes = std::uint64_t{1} << 20});
  }
  std::int64_t Count() {
    RangeResult result;
    EXPECT_TRUE(store_->Range({.key = "k", .range_end = "l", .count_only = true}, &result).ok());
    return result.count;
  }
  // Puts keys until one is refused; returns how many were not.
  int Fill() {
    const std::string value(2000, 'v');
    for (int i = 0;; ++i) {
      const absl::Status status = store_->Put({.key = "k" + std::to_string(i), .value = value}).status();
      if (status.ok()) continue;
      EXPECT_EQ(status, NoSpaceError());
      return i;
    }
  }

  TempDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(SpaceTest, RefusedWritesLeaveNoTrace) {
  Open();
  const int written = Fill();
  ASSERT_GT(written, 100);
  EXPECT_EQ(store_->CurrentRevision(), 1 + written);
  EXPECT_EQ(Count(), written);
  TxnRequest txn;
  const std::string value(5000, 'v');
  for (const char* key : {"k1", "kx", "ky"}) txn.success.push_back({PutRequest{.key = key, .value = value}});
  txn.success.push_back({DeleteRangeRequest{.key = "k2"}});
  EXPECT_EQ(store_->Txn(txn).status(), NoSpaceError());
  EXPECT_EQ(Count(), written);
  RangeResult k1;
  ASSERT_TRUE(store_->Range({.key = "k1"}, &k1).ok());
  EXPECT_THAT(DescribeAll(k1.kvs), ElementsAre("k1=" + std::string(2000, 'v') + " create=3 mod=3 version=1"));
  Open();
  EXPECT_EQ(store_->CurrentRevision(), 1 + written);
  EXPECT_EQ(Count(), written);
}

TEST_F(SpaceTest, DirectoryThatCannotBeCreatedIsNamed) {
  const absl::Status status =
      Store::Open({.directory = "/proc/kvist", .sync = false, .map_bytes = std::uint64_t{1} << 20}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(std::string(status.message()),
            "data directory /proc/kvist cannot be created: No such file or directory");
}

}  // namespace
}  // namespace kvist::kv
