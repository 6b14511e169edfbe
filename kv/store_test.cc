// The store through its public header: what writes do, what reads see, what survives a reopen.

#include "kv/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kv/errors.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoreTest : public StoreFixture {};

TEST_F(StoreTest, NewStoreIsAtRevisionOneAndEmpty) {
  EXPECT_EQ(store().CurrentRevision(), 1);
  EXPECT_EQ(store().CompactedRevision(), -1);
  EXPECT_EQ(store().OpenCount(), 1);
  const RangeResult all = Range({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)});
  EXPECT_EQ(all.revision, 1);
  EXPECT_EQ(all.count, 0);
  EXPECT_FALSE(all.more);
  EXPECT_EQ(all.kvs, "");
}

TEST_F(StoreTest, PutCountsVersionsAndKeepsTheCreateRevision) {
  EXPECT_EQ(Put("a", "1"), 2);
  EXPECT_EQ(Put("b", "x"), 3);
  EXPECT_EQ(Put("a", "2"), 4);
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=2 create=2 mod=4 version=2"));
  EXPECT_THAT(Pairs({.key = "b"}), ElementsAre("b=x create=3 mod=3 version=1"));
}

TEST_F(StoreTest, PutOfTheSameValueIsAChange) {
  Put("a", "1");
  EXPECT_EQ(Put("a", "1"), 3);
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=1 create=2 mod=3 version=2"));
}

TEST_F(StoreTest, PutReturnsThePreviousPair) {
  Put("a", "1");
  absl::StatusOr<PutResult> put = store().Put({.key = "a", .value = "2", .prev_kv = true});
  ASSERT_TRUE(put.ok());
  EXPECT_TRUE(put->has_prev_kv);
  EXPECT_EQ(Describe(put->prev_kv), "a=1 create=2 mod=2 version=1");
  put = store().Put({.key = "new", .value = "2", .prev_kv = true});
  ASSERT_TRUE(put.ok());
  EXPECT_FALSE(put->has_prev_kv);
}

TEST_F(StoreTest, IgnoreValueKeepsTheValueAndNeedsTheKey) {
  Put("a", "1");
  ASSERT_TRUE(store().Put({.key = "a", .ignore_value = true}).ok());
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=1 create=2 mod=3 version=2"));
  EXPECT_EQ(store().Put({.key = "b", .ignore_value = true}).status(), KeyNotFoundError());
  EXPECT_EQ(store().Put({.key = "b", .ignore_lease = true}).status(), KeyNotFoundError());
  EXPECT_EQ(store().CurrentRevision(), 3);
}

TEST_F(StoreTest, PutWithALeaseThatDoesNotExistIsRefused) {
  EXPECT_EQ(store().Put({.key = "a", .value = "1", .lease = 7}).status(), LeaseNotFoundError());
  EXPECT_EQ(store().CurrentRevision(), 1);
}

TEST_F(StoreTest, DeletedKeyStartsOver) {
  Put("a", "1");
  EXPECT_EQ(Delete("a"), 3);
  EXPECT_THAT(Pairs({.key = "a"}), IsEmpty());
  EXPECT_EQ(Put("a", "2"), 4);
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=2 create=4 mod=4 version=1"));
  EXPECT_THAT(Pairs({.key = "a", .revision = 2}), ElementsAre("a=1 create=2 mod=2 version=1"));
  EXPECT_THAT(Pairs({.key = "a", .revision = 3}), IsEmpty());
}

TEST_F(StoreTest, DeleteOfNothingLeavesTheRevision) {
  Put("b", "1");
  EXPECT_EQ(Delete("a"), 2);
  EXPECT_EQ(Delete("z", "a"), 2) << "a reversed range matches nothing";
  EXPECT_EQ(store().CurrentRevision(), 2);
}

TEST_F(StoreTest, DeleteRangeIsOneRevisionAndReturnsWhatItDeleted) {
  for (const char* key : {"a1", "a2", "a3", "b"}) Put(key, key);
  absl::StatusOr<DeleteRangeResult> deleted =
      store().DeleteRange({.key = "a1", .range_end = "a3", .prev_kv = true});
  ASSERT_TRUE(deleted.ok());
  EXPECT_EQ(deleted->revision, 6);
  EXPECT_EQ(deleted->deleted, 2);
  EXPECT_THAT(DescribeAll(deleted->prev_kvs),
              ElementsAre("a1=a1 create=2 mod=2 version=1", "a2=a2 create=3 mod=3 version=1"));
  EXPECT_THAT(Keys({.key = "a", .range_end = std::string_view("\0", 1)}), ElementsAre("a3", "b"));
}

TEST_F(StoreTest, RangeEndConventions) {
  for (const char* key : {"a", "a\xff", "b", "c"}) Put(key, "v");
  EXPECT_THAT(Keys({.key = "a"}), ElementsAre("a"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "b"}), ElementsAre("a", "a\xff"));
  EXPECT_THAT(Keys({.key = "b", .range_end = std::string_view("\0", 1)}), ElementsAre("b", "c"));
  EXPECT_THAT(Keys({.key = "b", .range_end = "b"}), IsEmpty());
  EXPECT_THAT(Keys({.key = "c", .range_end = "a"}), IsEmpty());
}

TEST_F(StoreTest, LimitCutsAndCountDoesNot) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "v");
  const RangeResult cut = Range({.key = "a", .range_end = "d", .limit = 2});
  EXPECT_THAT(DescribeKeys(cut), ElementsAre("a", "b"));
  EXPECT_TRUE(cut.more);
  EXPECT_EQ(cut.count, 3);
  const RangeResult exact = Range({.key = "a", .range_end = "d", .limit = 3});
  EXPECT_FALSE(exact.more);
  const RangeResult negative = Range({.key = "a", .range_end = "d", .limit = -1});
  EXPECT_THAT(DescribeKeys(negative), ElementsAre("a", "b", "c"));
  const RangeResult huge = Range({.key = "a", .range_end = "d", .limit = INT64_MAX});
  EXPECT_EQ(huge.count, 3);
  EXPECT_FALSE(huge.more);
}

TEST_F(StoreTest, CountOnlyIgnoresLimitAndBounds) {
  for (const char* key : {"a", "b", "c"}) Put(key, "v");
  const RangeResult counted =
      Range({.key = "a", .range_end = "z", .limit = 1, .count_only = true, .min_mod_revision = 4});
  EXPECT_EQ(counted.count, 3);
  EXPECT_FALSE(counted.more);
  EXPECT_EQ(counted.kvs, "");
  EXPECT_EQ(Range({.key = "a", .count_only = true}).count, 1);
  EXPECT_EQ(Range({.key = "x", .count_only = true}).count, 0);
  EXPECT_EQ(Range({.key = "a", .range_end = "z", .revision = 3, .count_only = true}).count, 2);
}

TEST_F(StoreTest, KeysOnlyHasNoValues) {
  Put("a", "1");
  Put("b", "2");
  Put("a", "3");
  EXPECT_THAT(Pairs({.key = "a", .range_end = "z", .keys_only = true}),
              ElementsAre("a= create=2 mod=4 version=2", "b= create=3 mod=3 version=1"));
  EXPECT_THAT(Pairs({.key = "a", .range_end = "z", .revision = 3, .keys_only = true}),
              ElementsAre("a= create=2 mod=2 version=1", "b= create=3 mod=3 version=1"));
  const RangeResult cut = Range({.key = "a", .range_end = "z", .limit = 1, .keys_only = true});
  EXPECT_THAT(DescribeKeys(cut), ElementsAre("a"));
  EXPECT_TRUE(cut.more);
}

TEST_F(StoreTest, SortsByEveryTargetAndOrder) {
  Put("a", "3");
  Put("b", "1");
  Put("c", "2");
  Put("b", "1");
  Put("a", "3");
  Put("a", "3");
  const auto sorted = [&](SortTarget target, SortOrder order) {
    return Keys({.key = "a", .range_end = "z", .sort_order = order, .sort_target = target});
  };
  EXPECT_THAT(sorted(SortTarget::kKey, SortOrder::kAscend), ElementsAre("a", "b", "c"));
  EXPECT_THAT(sorted(SortTarget::kKey, SortOrder::kDescend), ElementsAre("c", "b", "a"));
  EXPECT_THAT(sorted(SortTarget::kVersion, SortOrder::kAscend), ElementsAre("c", "b", "a"));
  EXPECT_THAT(sorted(SortTarget::kVersion, SortOrder::kDescend), ElementsAre("a", "b", "c"));
  EXPECT_THAT(sorted(SortTarget::kCreate, SortOrder::kDescend), ElementsAre("c", "b", "a"));
  EXPECT_THAT(sorted(SortTarget::kMod, SortOrder::kAscend), ElementsAre("c", "b", "a"));
  EXPECT_THAT(sorted(SortTarget::kValue, SortOrder::kAscend), ElementsAre("b", "c", "a"));
  EXPECT_THAT(sorted(SortTarget::kValue, SortOrder::kDescend), ElementsAre("a", "c", "b"));
}

TEST_F(StoreTest, TargetWithoutOrderSortsWhatTheLimitLeft) {
  const char* const values[] = {"3", "2", "1", "0"};
  const char* const keys[] = {"sa", "sb", "sc", "sd"};
  for (int i = 0; i < 4; ++i) Put(keys[i], values[i]);
  RangeRequest request = {.key = "s", .range_end = "t", .limit = 2, .sort_target = SortTarget::kValue};
  RangeResult result = Range(request);
  EXPECT_THAT(DescribeKeys(result), ElementsAre("sc", "sb"));
  EXPECT_TRUE(result.more);
  EXPECT_EQ(result.count, 4);
  request.sort_order = SortOrder::kAscend;
  result = Range(request);
  EXPECT_THAT(DescribeKeys(result), ElementsAre("sd", "sc"));
  EXPECT_TRUE(result.more);
}

TEST_F(StoreTest, BoundsFilterAfterTheWholeRangeIsRead) {
  Put("a", "1");  // 2
  Put("b", "1");  // 3
  Put("c", "1");  // 4
  Put("a", "2");  // 5
  EXPECT_THAT(Keys({.key = "a", .range_end = "z", .min_mod_revision = 4}), ElementsAre("a", "c"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "z", .max_mod_revision = 4}), ElementsAre("b", "c"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "z", .min_create_revision = 3}), ElementsAre("b", "c"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "z", .max_create_revision = 3}), ElementsAre("a", "b"));
  const RangeResult cut = Range({.key = "a", .range_end = "z", .limit = 1, .min_mod_revision = 4});
  EXPECT_THAT(DescribeKeys(cut), ElementsAre("a"));
  EXPECT_TRUE(cut.more);
  EXPECT_EQ(cut.count, 3);
}

TEST_F(StoreTest, HistoricalReadShowsTheCurrentRevisionInItsResult) {
  Put("a", "1");
  Put("a", "2");
  const RangeResult old = Range({.key = "a", .revision = 2});
  EXPECT_EQ(old.revision, 3);
  EXPECT_THAT(DescribeAll(old.kvs), ElementsAre("a=1 create=2 mod=2 version=1"));
  RangeResult result;
  EXPECT_EQ(store().Range({.key = "a", .revision = 4}, &result), FutureRevisionError());
  EXPECT_TRUE(store().Range({.key = "a", .revision = -5}, &result).ok());
}

TEST_F(StoreTest, AnyBytesAndLongKeys) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  const std::string long_key(5000, 'k');
  Put(all_bytes, all_bytes);
  Put(long_key, std::string(100000, 'v'));
  EXPECT_THAT(Pairs({.key = all_bytes}),
              ElementsAre(all_bytes + "=" + all_bytes + " create=2 mod=2 version=1"));
  EXPECT_THAT(Keys({.key = long_key}), ElementsAre(long_key));
  Reopen();
  EXPECT_THAT(Pairs({.key = all_bytes}),
              ElementsAre(all_bytes + "=" + all_bytes + " create=2 mod=2 version=1"));
  EXPECT_THAT(Pairs({.key = long_key}),
              ElementsAre(long_key + "=" + std::string(100000, 'v') + " create=3 mod=3 version=1"));
}

TEST_F(StoreTest, ReopenKeepsEverything) {
  Put("a", "1");
  Put("b", "1");
  Delete("b");
  Put("a", "2");
  Reopen();
  EXPECT_EQ(store().OpenCount(), 2);
  EXPECT_EQ(store().CurrentRevision(), 5);
  EXPECT_THAT(Keys({.key = "a", .range_end = "z"}), ElementsAre("a"));
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=2 create=2 mod=5 version=2"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "z", .revision = 3}), ElementsAre("a", "b"));
  EXPECT_EQ(Put("b", "2"), 6);
  EXPECT_THAT(Pairs({.key = "b"}), ElementsAre("b=2 create=6 mod=6 version=1"));
}

TEST_F(StoreTest, SecondOpenOfADirectoryIsRefused) {
  const absl::Status status = Store::Open(options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()), "data directory " + options().directory +
                                               " is in use by another kvist process; stop it, or choose "
                                               "another directory");
}

TEST_F(StoreTest, LogRecordsSayWhoAndWhen) {
  const std::int64_t before = NowUnixNanos();
  ASSERT_TRUE(store().Put({.key = "a", .value = "1"}, "alice").ok());
  ASSERT_TRUE(store().Put({.key = "b", .value = "1"}, "bob").ok());
  ASSERT_TRUE(store().DeleteRange({.key = "a"}, "alice").ok());
  const std::int64_t after = NowUnixNanos();
  Reopen();
  std::vector<std::string> log;
  ASSERT_TRUE(store()
                  .ReadLog(0,
                           [&](const LogRecord& record) {
                             EXPECT_GE(record.commit_unix_nanos, before);
                             EXPECT_LE(record.commit_unix_nanos, after);
                             log.push_back(
                                 std::to_string(record.revision) + "." + std::to_string(record.sub_revision) +
                                 (record.tombstone ? " delete " : " put ") + std::string(record.key) +
                                 " by " + store().ActorName(record.actor));
                             return true;
                           })
                  .ok());
  EXPECT_THAT(log, ElementsAre("2.0 put a by alice", "3.0 put b by bob", "4.0 delete a by alice"));
}

TEST_F(StoreTest, ReadLogStartsWhereAskedAndStopsWhenTold) {
  for (int i = 0; i < 5; ++i) Put("a", std::to_string(i));
  std::vector<Revision> seen;
  const auto visit = [&](const LogRecord& record) {
    seen.push_back(record.revision);
    return seen.size() < 2;
  };
  ASSERT_TRUE(store().ReadLog(4, visit).ok());
  EXPECT_THAT(seen, ElementsAre(4, 5));
  seen.clear();
  ASSERT_TRUE(store().ReadLog(7, visit).ok());
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace kvist::kv
