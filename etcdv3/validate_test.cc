// What is refused, in which order and with which text. Requests are made with the generated messages and
// decoded as they are in the server, so conversion is part of what is tested.

#include "etcdv3/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "etcdv3/convert.h"
#include "proto/etcdserverpb.pb.h"

namespace kvist::etcdv3 {
namespace {

using etcdserverpb::RequestOp;
using etcdserverpb::TxnRequest;

constexpr char kNoKey[] = "etcdserver: key is not provided";
constexpr char kEmptyOp[] = "etcdserver: key not found";
constexpr char kSort[] = "etcdserver: invalid sort option";
constexpr char kValue[] = "etcdserver: value is provided";
constexpr char kLease[] = "etcdserver: lease is provided";
constexpr char kTooMany[] = "etcdserver: too many operations in txn request";
constexpr char kDuplicate[] = "etcdserver: duplicate key given in txn request";

// "ok", or the text of an INVALID_ARGUMENT; other codes are told apart by their name.
std::string Verdict(const absl::Status& status) {
  if (status.ok()) return "ok";
  std::string text(status.message().data(), status.message().size());
  if (status.code() == absl::StatusCode::kInvalidArgument) return text;
  return std::string(absl::StatusCodeToString(status.code())) + ": " + text;
}

std::string Check(const TxnRequest& message, int ops_max = 128) {
  const std::string bytes = message.SerializeAsString();
  kv::TxnRequest request;
  bool too_deep = false;
  if (!DecodeTxn(bytes, &request, &too_deep)) return "malformed";
  return Verdict(CheckTxn(request, ops_max));
}

RequestOp Put(std::string_view key) {
  RequestOp op;
  op.mutable_request_put()->set_key(std::string(key));
  return op;
}

RequestOp Get(std::string_view key) {
  RequestOp op;
  op.mutable_request_range()->set_key(std::string(key));
  return op;
}

RequestOp Delete(std::string_view key, std::string_view range_end = {}) {
  RequestOp op;
  op.mutable_request_delete_range()->set_key(std::string(key));
  op.mutable_request_delete_range()->set_range_end(std::string(range_end));
  return op;
}

TxnRequest Txn(std::initializer_list<RequestOp> success, std::initializer_list<RequestOp> failure = {}) {
  TxnRequest txn;
  for (const RequestOp& op : success) *txn.add_success() = op;
  for (const RequestOp& op : failure) *txn.add_failure() = op;
  return txn;
}

RequestOp Nested(std::initializer_list<RequestOp> success, std::initializer_list<RequestOp> failure = {}) {
  RequestOp op;
  *op.mutable_request_txn() = Txn(success, failure);
  return op;
}

constexpr std::string_view kFromKey("\0", 1);

TEST(RangeTest, ChecksKeyThenOrderThenTarget) {
  kv::RangeRequest request;
  request.sort_order = static_cast<kv::SortOrder>(3);
  EXPECT_EQ(Verdict(CheckRange(request)), kNoKey);
  request.key = "k";
  EXPECT_EQ(Verdict(CheckRange(request)), kSort);
  request.sort_order = kv::SortOrder::kDescend;
  request.sort_target = static_cast<kv::SortTarget>(5);
  EXPECT_EQ(Verdict(CheckRange(request)), kSort);
  request.sort_target = static_cast<kv::SortTarget>(-1);
  EXPECT_EQ(Verdict(CheckRange(request)), kSort);
  request.sort_target = kv::SortTarget::kValue;
  request.limit = -7;
  request.revision = -7;
  request.range_end = "a";  // reversed ranges are legal
  EXPECT_EQ(Verdict(CheckRange(request)), "ok");
}

TEST(RangeTest, StreamsRefuseOrdersAndBounds) {
  constexpr char kOrders[] = "UNIMPLEMENTED: RangeStream does not support custom sort orders";
  constexpr char kBounds[] = "UNIMPLEMENTED: RangeStream does not support revision filters";
  kv::RangeRequest request;
  request.sort_order = kv::SortOrder::kDescend;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), kNoKey);
  request.key = "k";
  request.max_create_revision = 4;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), kOrders);
  request.sort_order = kv::SortOrder::kAscend;
  request.sort_target = kv::SortTarget::kMod;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), kOrders);
  request.sort_target = kv::SortTarget::kKey;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), kBounds);
  request.max_create_revision = 0;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), "ok");
  request.sort_order = kv::SortOrder::kNone;
  request.sort_target = kv::SortTarget::kValue;
  EXPECT_EQ(Verdict(CheckRangeStream(request)), "ok");
}

TEST(PutTest, ChecksKeyThenValueThenLease) {
  kv::PutRequest request;
  request.ignore_value = true;
  request.value = "v";
  request.ignore_lease = true;
  request.lease = 1;
  EXPECT_EQ(Verdict(CheckPut(request)), kNoKey);
  request.key = "k";
  EXPECT_EQ(Verdict(CheckPut(request)), kValue);
  request.value = "";
  EXPECT_EQ(Verdict(CheckPut(request)), kLease);
  request.lease = 0;
  EXPECT_EQ(Verdict(CheckPut(request)), "ok");
  request.ignore_lease = false;
  request.lease = -5;
  EXPECT_EQ(Verdict(CheckPut(request)), "ok");
}

TEST(DeleteTest, ChecksKeyAlone) {
  kv::DeleteRangeRequest request;
  request.range_end = "a";
  EXPECT_EQ(Verdict(CheckDeleteRange(request)), kNoKey);
  request.key = "z";
  EXPECT_EQ(Verdict(CheckDeleteRange(request)), "ok");
}

TEST(WriteSizeTest, CountsTheEnvelopeThatEtcdCounts) {
  // 13 bytes of header, 1 of tag, 3 of length.
  constexpr std::size_t kMax = 1572864;
  EXPECT_EQ(Verdict(CheckWriteSize(kMax - 17, kMax)), "ok");
  EXPECT_EQ(Verdict(CheckWriteSize(kMax - 16, kMax)), "etcdserver: request is too large");
}

TEST(TxnTest, EmptyOnesAreLegal) {
  EXPECT_EQ(Check(TxnRequest()), "ok");
  EXPECT_EQ(Check(Txn({Nested({})})), "ok");
}

TEST(TxnTest, CountsTheLongestList) {
  TxnRequest txn;
  for (int i = 0; i < 3; ++i) {
    txn.add_compare()->set_key("c");
    *txn.add_success() = Put("s" + std::to_string(i));
    *txn.add_failure() = Put("f" + std::to_string(i));
  }
  EXPECT_EQ(Check(txn, 3), "ok");
  EXPECT_EQ(Check(txn, 2), kTooMany);
  txn.add_compare();  // too many is found before the key that is missing
  EXPECT_EQ(Check(txn, 3), kTooMany);
  EXPECT_EQ(Check(txn, 4), kNoKey);
}

TEST(TxnTest, NestedOnesHaveWhatTheirParentLeaves) {
  EXPECT_EQ(Check(Txn({Nested({Put("a")})}), 1), kTooMany);
  EXPECT_EQ(Check(Txn({Nested({Put("a")})}), 2), "ok");
  EXPECT_EQ(Check(Txn({Nested({})}), 1), "ok");
  // Siblings share the budget, they do not add up.
  EXPECT_EQ(Check(Txn({Nested({Put("a"), Put("b")}), Nested({Put("c"), Put("d")})}), 4), "ok");
  EXPECT_EQ(Check(Txn({Nested({Put("a"), Put("b")}), Nested({Put("c"), Put("d")})}), 3), kTooMany);
  EXPECT_EQ(Check(Txn({}, {Nested({}, {Nested({Put("a")})})}), 2), kTooMany);
  EXPECT_EQ(Check(Txn({}, {Nested({}, {Nested({Put("a")})})}), 3), "ok");
}

TEST(TxnTest, FirstFaultInOrderDecides) {
  RequestOp ignoring = Put("k");
  ignoring.mutable_request_put()->set_ignore_value(true);
  ignoring.mutable_request_put()->set_value("v");
  EXPECT_EQ(Check(Txn({RequestOp(), ignoring})), kEmptyOp);
  EXPECT_EQ(Check(Txn({ignoring, RequestOp()})), kValue);
  EXPECT_EQ(Check(Txn({ignoring}, {RequestOp()})), kValue);
  EXPECT_EQ(Check(Txn({}, {RequestOp(), ignoring})), kEmptyOp);
  EXPECT_EQ(Check(Txn({Get("")})), kNoKey);
  EXPECT_EQ(Check(Txn({Delete("")})), kNoKey);
  EXPECT_EQ(Check(Txn({Nested({Put("")})})), kNoKey);
  EXPECT_EQ(Check(Txn({Nested({}, {RequestOp()})})), kEmptyOp);
  // Duplicates are looked for when all shapes are right.
  EXPECT_EQ(Check(Txn({Put("k"), Put("k")}, {RequestOp()})), kEmptyOp);
}

TEST(TxnTest, AnOpWithUnknownFieldsAloneIsEmpty) {
  TxnRequest txn = Txn({RequestOp()});
  txn.mutable_success(0)->GetReflection()->MutableUnknownFields(txn.mutable_success(0))->AddVarint(99, 1);
  EXPECT_EQ(Check(txn), kEmptyOp);
}

TEST(TxnTest, AnOpThatIsGivenEmptyIsNotAnEmptyOp) {
  RequestOp range;
  range.mutable_request_range();
  EXPECT_EQ(Check(Txn({range})), kNoKey);
  range.mutable_request_range()->set_count_only(true);
  EXPECT_EQ(Check(Txn({range})), kNoKey);
}

TEST(DuplicateTest, WithinOneBranch) {
  EXPECT_EQ(Check(Txn({Put("a"), Put("b")})), "ok");
  EXPECT_EQ(Check(Txn({Put("a"), Put("b"), Put("a")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("a")}, {Put("a")})), "ok");
  EXPECT_EQ(Check(Txn({}, {Put("a"), Put("a")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("a"), Get("a"), Get("a")})), "ok");
  EXPECT_EQ(Check(Txn({Put("a"), Delete("a")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Delete("a"), Put("a")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Delete("a"), Delete("a"), Delete("a", "z")})), "ok");
}

TEST(DuplicateTest, RangesAreHalfOpen) {
  EXPECT_EQ(Check(Txn({Put("a"), Delete("a", "c")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("bzz"), Delete("a", "c")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("c"), Delete("a", "c")})), "ok");
  EXPECT_EQ(Check(Txn({Put(std::string("a\0", 2)), Delete("a")})), "ok");
  EXPECT_EQ(Check(Txn({Put("\xff"), Delete("a", "\xff\xff")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("b"), Delete("c", "a")})), "ok");
  // Overlapping and adjoining deletes are one set of keys.
  EXPECT_EQ(Check(Txn({Delete("a", "c"), Delete("b", "e"), Delete("e", "g"), Put("f")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Delete("a", "c"), Delete("e", "g"), Put("d")})), "ok");
  EXPECT_EQ(Check(Txn({Delete("a", "z"), Delete("b", "c"), Put("y")})), kDuplicate);
}

TEST(DuplicateTest, DeletesFromAKeyOnAreNotSeen) {
  EXPECT_EQ(Check(Txn({Put("b"), Delete("a", kFromKey)})), "ok");
  EXPECT_EQ(Check(Txn({Put(kFromKey), Delete(kFromKey, kFromKey)})), "ok");
}

TEST(DuplicateTest, AcrossNestedTxns) {
  EXPECT_EQ(Check(Txn({Nested({Put("k")}), Nested({Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Nested({Put("k")}), Put("k")})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("k"), Nested({Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Put("k"), Nested({}, {Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Nested({Nested({Put("k")})}), Nested({}, {Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Nested({Put("k"), Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Delete("k"), Nested({Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Nested({Put("k")}), Delete("k")})), kDuplicate);
}

TEST(DuplicateTest, BranchesOfOneNestedTxnExcludeEachOther) {
  EXPECT_EQ(Check(Txn({Nested({Put("k")}, {Put("k")})})), "ok");
  EXPECT_EQ(Check(Txn({Nested({Put("k")}, {Delete("k")})})), "ok");
  EXPECT_EQ(Check(Txn({Nested({Delete("k")}, {Put("k")})})), "ok");
  EXPECT_EQ(Check(Txn({Nested({Put("k")}, {Put("k")}), Put("k")})), kDuplicate);
  // Not when an earlier sibling has put the key: the else-branch then clashes with that.
  EXPECT_EQ(Check(Txn({Nested({Put("k")}), Nested({}, {Put("k")})})), kDuplicate);
}

TEST(DuplicateTest, SiblingOrderMatters) {
  EXPECT_EQ(Check(Txn({Nested({Put("k")}), Nested({Delete("k")})})), "ok");
  EXPECT_EQ(Check(Txn({Nested({Delete("k")}), Nested({Put("k")})})), kDuplicate);
  EXPECT_EQ(Check(Txn({Nested({}, {Delete("k")}), Nested({}, {Put("k")})})), kDuplicate);
  // A put of the level itself comes after all, so it meets the deletes of every nested Txn.
  EXPECT_EQ(Check(Txn({Put("k"), Nested({Delete("j", "l")})})), kDuplicate);
}

TEST(DuplicateTest, FirstBranchIsCheckedFirstAndBothAre) {
  EXPECT_EQ(Check(Txn({Put("a")}, {Nested({Put("b")}), Put("b")})), kDuplicate);
}

}  // namespace
}  // namespace kvist::etcdv3
