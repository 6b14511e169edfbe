// Compaction: what can be read before and after, what is left in the log, and that a stop in between is made
// good at the next open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kv/errors.h"
#include "kv/revision_log.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

using ::testing::ElementsAre;

class CompactionTest : public StoreFixture {
 protected:
  std::vector<std::string> Log(Revision from) {
    std::vector<std::string> log;
    const absl::Status status = store().ReadLog(from, [&](const LogRecord& r) {
      log.push_back(std::to_string(r.revision) + (r.tombstone ? "-" : "+") + std::string(r.key));
      return true;
    });
    EXPECT_TRUE(status.ok()) << status;
    return log;
  }
  absl::Status Read(Revision revision) {
    RangeResult result;
    return store().Range({.key = "a", .revision = revision}, &result);
  }
};

TEST_F(CompactionTest, OlderReadsFailAndTheCompactedRevisionStaysReadable) {
  for (int i = 0; i < 4; ++i) Put("a", std::to_string(i));  // 2..5
  absl::StatusOr<CompactResult> compacted = store().Compact({.revision = 4});
  ASSERT_TRUE(compacted.ok());
  EXPECT_EQ(compacted->revision, 5);
  EXPECT_EQ(store().CompactedRevision(), 4);
  EXPECT_EQ(Read(3), CompactedError());
  EXPECT_THAT(Pairs({.key = "a", .revision = 4}), ElementsAre("a=2 create=2 mod=4 version=3"));
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=3 create=2 mod=5 version=4"));
  absl::Status log = store().ReadLog(3, [](const LogRecord&) { return true; });
  EXPECT_TRUE(IsCompacted(log));
}

TEST_F(CompactionTest, RefusesRepeatedAndFutureRevisions) {
  Put("a", "1");
  EXPECT_EQ(Compact(-1), CompactedError());
  EXPECT_TRUE(Compact(0).ok());
  EXPECT_EQ(Compact(0), CompactedError());
  EXPECT_EQ(Compact(3), FutureRevisionError());
  EXPECT_TRUE(Compact(2).ok());
  EXPECT_EQ(Compact(1), CompactedError());
  EXPECT_EQ(store().CurrentRevision(), 2);
}

TEST_F(CompactionTest, KeepsTheNewestOfEachKeyAndWhatComesAfter) {
  Put("a", "1");  // 2, superseded by 4
  Put("b", "1");  // 3
  Put("a", "2");  // 4
  Put("c", "1");  // 5, deleted at 6
  Delete("c");    // 6
  Put("a", "3");  // 7
  ASSERT_TRUE(Compact(7).ok());
  EXPECT_THAT(Log(7), ElementsAre("7+a"));
  EXPECT_THAT(Keys({.key = "a", .range_end = "z"}), ElementsAre("a", "b"));
  Reopen();
  EXPECT_THAT(Pairs({.key = "a", .range_end = "z"}),
              ElementsAre("a=3 create=2 mod=7 version=3", "b=1 create=3 mod=3 version=1"));
}

TEST_F(CompactionTest, TombstoneAtTheCompactedRevisionStays) {
  Put("a", "1");
  Delete("a");  // 3
  ASSERT_TRUE(Compact(3).ok());
  EXPECT_THAT(Log(3), ElementsAre("3-a"));
  EXPECT_EQ(store().Stats()->index_keys, 1);
  Put("b", "1");  // 4
  ASSERT_TRUE(Compact(4).ok());
  EXPECT_THAT(Log(4), ElementsAre("4+b"));
  EXPECT_EQ(store().Stats()->index_keys, 1) << "the deleted key is forgotten";
}

TEST_F(CompactionTest, RevisionNeverDropsWhenAllIsDeleted) {
  Put("a", "1");
  Delete("a");
  ASSERT_TRUE(Compact(3).ok());
  Reopen();
  EXPECT_EQ(store().CurrentRevision(), 3);
  EXPECT_EQ(store().CompactedRevision(), 3);
  EXPECT_EQ(Put("a", "2"), 4);
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=2 create=4 mod=4 version=1"));
}

TEST_F(CompactionTest, VersionGoesOnCountingAcrossReopen) {
  for (int i = 0; i < 5; ++i) Put("a", "v");  // 2..6
  ASSERT_TRUE(Compact(5).ok());
  Reopen();
  EXPECT_EQ(Put("a", "v"), 7);
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=v create=2 mod=7 version=6"));
}

TEST_F(CompactionTest, DeletedAndRecreatedInOneRevision) {
  Put("a", "1");
  ASSERT_TRUE(
      store()
          .Txn({.success = {Op{DeleteRangeRequest{.key = "a", .range_end = std::string_view("\0", 1)}},
                            Op{PutRequest{.key = "a", .value = "2"}}}})
          .ok());  // 3.0 delete, 3.1 put
  ASSERT_TRUE(Compact(3).ok());
  EXPECT_THAT(Log(3), ElementsAre("3-a", "3+a"));
  Put("a", "3");
  ASSERT_TRUE(Compact(4).ok());
  EXPECT_THAT(Log(4), ElementsAre("4+a"));
  EXPECT_THAT(Pairs({.key = "a"}), ElementsAre("a=3 create=3 mod=4 version=2"));
}

TEST_F(CompactionTest, ManyKeysAreCompactedInPieces) {
  constexpr int kKeys = 3000;
  const auto key = [](int i) { return "key" + std::to_string(100000 + i); };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kKeys; ++i) Put(key(i), std::to_string(round));
  }
  const Revision before = store().CurrentRevision();
  Delete("key", "kez");
  Put("other", "1");
  ASSERT_TRUE(Compact(before).ok());
  EXPECT_EQ(Range({.key = "key", .range_end = "kez", .revision = before, .count_only = true}).count, kKeys);
  ASSERT_TRUE(Compact(before + 2).ok());
  EXPECT_EQ(store().Stats()->index_keys, 1);
  EXPECT_EQ(store().Stats()->keys, 1);
  Reopen();
  EXPECT_EQ(store().Stats()->index_keys, 1);
  EXPECT_THAT(Keys({.key = "a", .range_end = "z"}), ElementsAre("other"));
}

// What a crash between the answer to Compact and the end of the work in the background leaves behind.
TEST_F(CompactionTest, UnfinishedCompactionIsTakenUpAtOpen) {
  for (int i = 0; i < 4; ++i) Put("a", std::to_string(i));  // 2..5
  Close();
  {
    absl::StatusOr<std::unique_ptr<RevisionLog>> log = RevisionLog::Open(options());
    ASSERT_TRUE(log.ok());
    absl::StatusOr<RevisionLog::Batch> batch = (*log)->Begin();
    ASSERT_TRUE(batch.ok());
    ASSERT_TRUE(batch->PutNumber(kCompactedState, 5).ok());
    ASSERT_TRUE(batch->Commit().ok());
  }
  Reopen();
  EXPECT_EQ(store().CompactedRevision(), 5);
  Put("b", "1");
  ASSERT_TRUE(Compact(6).ok()) << "runs after the one that was unfinished";
  Close();
  absl::StatusOr<std::unique_ptr<RevisionLog>> log = RevisionLog::Open(options());
  ASSERT_TRUE(log.ok());
  std::vector<Revision> left;
  ASSERT_TRUE((*log)
                  ->Read()
                  ->Scan(RevisionKey(),
                         [&](RevisionKey key, std::string_view) {
                           left.push_back(key.main);
                           return true;
                         })
                  .ok());
  EXPECT_THAT(left, ElementsAre(5, 6));
}

TEST_F(CompactionTest, FreedSpaceIsUsedAgain) {
  const std::string value(1000, 'v');
  std::int64_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 300; ++i) Put("key" + std::to_string(i), value);
    ASSERT_TRUE(Compact(store().CurrentRevision()).ok());
    if (round == 4) after_first = store().Stats()->file_bytes;
  }
  EXPECT_LE(store().Stats()->file_bytes, after_first * 3 / 2);
}

TEST_F(CompactionTest, FormatOfANewerProgramIsRefused) {
  Close();
  {
    absl::StatusOr<std::unique_ptr<RevisionLog>> log = RevisionLog::Open(options());
    ASSERT_TRUE(log.ok());
    absl::StatusOr<RevisionLog::Batch> batch = (*log)->Begin();
    ASSERT_TRUE(batch.ok());
    ASSERT_TRUE(batch->PutNumber(kFormatState, kFormatVersion + 1).ok());
    ASSERT_TRUE(batch->Commit().ok());
  }
  const absl::Status status = Store::Open(options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()), "data directory " + options().directory +
                                               " has format 2, this kvist reads up to format 1; use a newer "
                                               "kvist");
}

}  // namespace
}  // namespace kvist::kv
