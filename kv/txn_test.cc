// Transactions: conditions, branches, nesting, and that a failing one leaves nothing behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kv/errors.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kFromKey("\0", 1);

Op PutOp(std::string_view key, std::string_view value) { return {PutRequest{.key = key, .value = value}}; }
Op RangeOp(const RangeRequest& request) { return {request}; }
Op DeleteOp(std::string_view key, std::string_view range_end = {}) {
  return {DeleteRangeRequest{.key = key, .range_end = range_end}};
}
Compare Condition(CompareTarget target, CompareResult result, std::string_view key, std::int64_t number) {
  return {.result = result, .target = target, .key = key, .number = number};
}
Compare ValueCondition(CompareResult result, std::string_view key, std::string_view value) {
  return {.result = result, .target = CompareTarget::kValue, .key = key, .value = value};
}

class TxnTest : public StoreFixture {
 protected:
  TxnResult Run(const TxnRequest& txn) {
    absl::StatusOr<TxnResult> result = store().Txn(txn);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : TxnResult();
  }
  bool ConditionHolds(const Compare& compare) {
    const bool written = Run({.compare = {compare}}).succeeded;
    TxnResult read;
    EXPECT_TRUE(store().ReadOnlyTxn({.compare = {compare}}, &read).ok());
    EXPECT_EQ(read.succeeded, written) << "a read-only txn must see the same";
    return written;
  }
};

TEST_F(TxnTest, AllChangesShareOneRevisionInOrder) {
  const TxnResult result = Run({.success = {PutOp("a", "1"), PutOp("b", "2"), DeleteOp("a")}});
  EXPECT_TRUE(result.succeeded);
  EXPECT_EQ(result.revision, 2);
  ASSERT_EQ(result.responses.size(), 3U);
  EXPECT_EQ(std::get<PutResult>(result.responses[0].result).revision, 2);
  EXPECT_EQ(std::get<DeleteRangeResult>(result.responses[2].result).deleted, 1);
  EXPECT_THAT(Pairs({.key = "a", .range_end = kFromKey}), ElementsAre("b=2 create=2 mod=2 version=1"));
  std::vector<std::string> log;
  ASSERT_TRUE(store()
                  .ReadLog(2,
                           [&](const LogRecord& r) {
                             log.push_back(std::string(r.key) + (r.tombstone ? "-" : "+") +
                                           std::to_string(r.revision) + "." + std::to_string(r.sub_revision));
                             return true;
                           })
                  .ok());
  EXPECT_THAT(log, ElementsAre("a+2.0", "b+2.1", "a-2.2"));
}

TEST_F(TxnTest, WithoutEffectLeavesTheRevision) {
  Put("a", "1");
  EXPECT_EQ(Run({.success = {DeleteOp("x")}}).revision, 2);
  EXPECT_EQ(Run({.compare = {Condition(CompareTarget::kVersion, CompareResult::kEqual, "a", 9)},
                 .success = {PutOp("a", "2")}})
                .revision,
            2);
  EXPECT_EQ(store().CurrentRevision(), 2);
}

TEST_F(TxnTest, ReadsSeeEarlierOperations) {
  Put("a", "1");
  const TxnResult result = Run({.success = {RangeOp({.key = "a"}), PutOp("a", "2"), RangeOp({.key = "a"}),
                                            RangeOp({.key = "a", .revision = 2})}});
  const auto range = [&](std::size_t i) { return std::get<RangeResult>(result.responses[i].result); };
  EXPECT_EQ(range(0).revision, 2) << "nothing changed yet";
  EXPECT_THAT(DescribeAll(range(0).kvs), ElementsAre("a=1 create=2 mod=2 version=1"));
  EXPECT_EQ(range(2).revision, 3);
  EXPECT_THAT(DescribeAll(range(2).kvs), ElementsAre("a=2 create=2 mod=3 version=2"));
  EXPECT_THAT(DescribeAll(range(3).kvs), ElementsAre("a=1 create=2 mod=2 version=1"));
}

TEST_F(TxnTest, DeleteThenPutStartsOver) {
  Put("m", "old");
  const TxnResult result = Run({.success = {DeleteOp("m", kFromKey), PutOp("m", "new")}});
  EXPECT_EQ(result.revision, 3);
  EXPECT_THAT(Pairs({.key = "m"}), ElementsAre("m=new create=3 mod=3 version=1"));
  EXPECT_THAT(Pairs({.key = "m", .revision = 2}), ElementsAre("m=old create=2 mod=2 version=1"));
}

TEST_F(TxnTest, DeleteOfNothingShowsTheOldRevisionUntilSomethingChanges) {
  Put("a", "1");
  const TxnResult result = Run({.success = {DeleteOp("m"), PutOp("m3", "")}});
  EXPECT_EQ(std::get<DeleteRangeResult>(result.responses[0].result).revision, 2);
  EXPECT_EQ(std::get<PutResult>(result.responses[1].result).revision, 3);
  EXPECT_EQ(result.revision, 3);
}

TEST_F(TxnTest, NestedConditionsSeeTheStateBefore) {
  const TxnRequest nested = {.compare = {Condition(CompareTarget::kCreate, CompareResult::kGreater, "c1", 0)},
                             .success = {PutOp("c2", "")},
                             .failure = {PutOp("c3", "")}};
  const TxnResult result = Run({.success = {PutOp("c1", ""), Op{nested}}});
  const auto& inner = std::get<TxnResult>(result.responses[1].result);
  EXPECT_FALSE(inner.succeeded);
  EXPECT_EQ(inner.revision, 0);
  EXPECT_THAT(Keys({.key = "c", .range_end = "d"}), ElementsAre("c1", "c3"));
}

TEST_F(TxnTest, EveryOperatorAndTarget) {
  Put("k", "b");
  Put("k", "b");  // create 2, mod 3, version 2
  const std::vector<std::pair<CompareTarget, std::int64_t>> numbers = {{CompareTarget::kVersion, 2},
                                                                       {CompareTarget::kCreate, 2},
                                                                       {CompareTarget::kMod, 3},
                                                                       {CompareTarget::kLease, 0}};
  for (const auto& [target, is] : numbers) {
    EXPECT_TRUE(ConditionHolds(Condition(target, CompareResult::kEqual, "k", is)));
    EXPECT_FALSE(ConditionHolds(Condition(target, CompareResult::kEqual, "k", is + 1)));
    EXPECT_TRUE(ConditionHolds(Condition(target, CompareResult::kNotEqual, "k", is + 1)));
    EXPECT_FALSE(ConditionHolds(Condition(target, CompareResult::kNotEqual, "k", is)));
    EXPECT_TRUE(ConditionHolds(Condition(target, CompareResult::kGreater, "k", is - 1)));
    EXPECT_FALSE(ConditionHolds(Condition(target, CompareResult::kGreater, "k", is)));
    EXPECT_TRUE(ConditionHolds(Condition(target, CompareResult::kLess, "k", is + 1)));
    EXPECT_FALSE(ConditionHolds(Condition(target, CompareResult::kLess, "k", is)));
  }
  EXPECT_TRUE(ConditionHolds(ValueCondition(CompareResult::kEqual, "k", "b")));
  EXPECT_TRUE(ConditionHolds(ValueCondition(CompareResult::kGreater, "k", "a")));
  EXPECT_TRUE(ConditionHolds(ValueCondition(CompareResult::kLess, "k", "ba")));
  EXPECT_FALSE(ConditionHolds(ValueCondition(CompareResult::kNotEqual, "k", "b")));
}

TEST_F(TxnTest, UnknownOperatorHoldsAndUnknownTargetIsEqual) {
  EXPECT_TRUE(ConditionHolds(Condition(CompareTarget::kVersion, CompareResult{9}, "k", 5)));
  EXPECT_TRUE(ConditionHolds(Condition(CompareTarget{9}, CompareResult::kEqual, "k", 5)));
  EXPECT_FALSE(ConditionHolds(Condition(CompareTarget{9}, CompareResult::kGreater, "k", 5)));
}

TEST_F(TxnTest, MissingKeyHasNumbersZeroAndNoValue) {
  EXPECT_TRUE(ConditionHolds(Condition(CompareTarget::kVersion, CompareResult::kEqual, "no", 0)));
  EXPECT_TRUE(ConditionHolds(Condition(CompareTarget::kMod, CompareResult::kLess, "no", 1)));
  EXPECT_FALSE(ConditionHolds(ValueCondition(CompareResult::kEqual, "no", "")));
  EXPECT_FALSE(ConditionHolds(ValueCondition(CompareResult::kNotEqual, "no", "x")));
  Put("gone", "v");
  Delete("gone");
  EXPECT_TRUE(ConditionHolds(Condition(CompareTarget::kVersion, CompareResult::kEqual, "gone", 0)));
  EXPECT_FALSE(ConditionHolds(ValueCondition(CompareResult::kNotEqual, "gone", "x")));
}

TEST_F(TxnTest, RangeConditionMustHoldForEveryKey) {
  Put("a", "1");
  Put("b", "1");
  Compare all = ValueCondition(CompareResult::kEqual, "a", "1");
  all.range_end = "c";
  EXPECT_TRUE(ConditionHolds(all));
  Put("b", "2");
  EXPECT_FALSE(ConditionHolds(all));
  Compare empty = Condition(CompareTarget::kVersion, CompareResult::kEqual, "x", 0);
  empty.range_end = "z";
  EXPECT_TRUE(ConditionHolds(empty)) << "an empty range is as a missing key";
  empty.target = CompareTarget::kValue;
  EXPECT_FALSE(ConditionHolds(empty));
}

TEST_F(TxnTest, FailingOperationUndoesAll) {
  Put("a", "1");
  const TxnRequest bad_read = {.success = {PutOp("a", "2"), RangeOp({.key = "a", .revision = 9})}};
  EXPECT_EQ(store().Txn(bad_read).status(), FutureRevisionError());
  TxnRequest bad_put = {.success = {PutOp("b", "2"), PutOp("c", "")}};
  std::get<PutRequest>(bad_put.success[1].request).ignore_value = true;
  EXPECT_EQ(store().Txn(bad_put).status(), KeyNotFoundError());
  std::get<PutRequest>(bad_put.success[1].request) = {.key = "c", .lease = 3};
  EXPECT_EQ(store().Txn(bad_put).status(), LeaseNotFoundError());
  EXPECT_EQ(store().CurrentRevision(), 2);
  EXPECT_THAT(Pairs({.key = "a", .range_end = kFromKey}), ElementsAre("a=1 create=2 mod=2 version=1"));
}

TEST_F(TxnTest, KeepingTheValueOfAKeyDeletedInTheSameTxnUndoesAll) {
  Put("a", "1");
  Put("b", "1");
  const TxnRequest txn = {
      .success = {DeleteOp("a", kFromKey), {PutRequest{.key = "b", .ignore_value = true}}}};
  EXPECT_EQ(store().Txn(txn).status(), KeyNotFoundError());
  EXPECT_EQ(store().CurrentRevision(), 3);
  EXPECT_THAT(Keys({.key = "a", .range_end = kFromKey}), ElementsAre("a", "b"));
  EXPECT_EQ(Put("c", "1"), 4);
}

TEST_F(TxnTest, BranchNotTakenIsNotChecked) {
  const TxnResult result =
      Run({.success = {PutOp("a", "1")}, .failure = {RangeOp({.key = "a", .revision = 99})}});
  EXPECT_EQ(result.revision, 2);
}

TEST_F(TxnTest, NegativeRevisionIsReadableUntilTheFirstCompaction) {
  Put("a", "1");
  TxnResult result;
  EXPECT_TRUE(store().ReadOnlyTxn({.success = {RangeOp({.key = "a", .revision = -1})}}, &result).ok());
  EXPECT_THAT(DescribeKeys(std::get<RangeResult>(result.responses[0].result)), ElementsAre("a"));
  EXPECT_EQ(store().ReadOnlyTxn({.success = {RangeOp({.key = "a", .revision = -2})}}, &result),
            CompactedError());
  ASSERT_TRUE(Compact(0).ok());
  EXPECT_EQ(store().ReadOnlyTxn({.success = {RangeOp({.key = "a", .revision = -1})}}, &result),
            CompactedError());
}

TEST_F(TxnTest, ReadOnlyIsRangesAlone) {
  EXPECT_TRUE(IsReadOnly({}));
  EXPECT_TRUE(IsReadOnly({.success = {RangeOp({.key = "a"})}, .failure = {RangeOp({.key = "b"})}}));
  EXPECT_FALSE(IsReadOnly({.failure = {DeleteOp("b")}}));
  EXPECT_FALSE(IsReadOnly({.success = {Op{TxnRequest{}}}}));
}

TEST_F(TxnTest, ReadOnlyReadsOneRevision) {
  Put("a", "1");
  Put("a", "2");
  TxnResult result;
  ASSERT_TRUE(store()
                  .ReadOnlyTxn({.compare = {ValueCondition(CompareResult::kEqual, "a", "2")},
                                .success = {RangeOp({.key = "a"}), RangeOp({.key = "a", .revision = 2})}},
                               &result)
                  .ok());
  EXPECT_TRUE(result.succeeded);
  EXPECT_EQ(result.revision, 3);
  EXPECT_THAT(Pairs({.key = "none"}), IsEmpty());
  const auto& old = std::get<RangeResult>(result.responses[1].result);
  EXPECT_EQ(old.revision, 3);
  EXPECT_THAT(DescribeAll(old.kvs), ElementsAre("a=1 create=2 mod=2 version=1"));
}

}  // namespace
}  // namespace kvist::kv
