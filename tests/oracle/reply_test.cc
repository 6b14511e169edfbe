// The comparison itself: which differences it must see, and which it must not.

#include "tests/oracle/reply.h"

#include <gtest/gtest.h>

#include "tests/oracle/operation.h"

namespace kvist::blackbox {
namespace {

etcdserverpb::TxnResponse Response() {
  etcdserverpb::TxnResponse response;
  response.mutable_header()->set_cluster_id(1);
  response.mutable_header()->set_revision(7);
  response.set_succeeded(true);
  etcdserverpb::RangeResponse* range = response.add_responses()->mutable_response_range();
  range->mutable_header()->set_revision(7);
  range->add_kvs()->set_key("a");
  range->set_count(1);
  return response;
}

Reply With(const etcdserverpb::TxnResponse& response) {
  Reply reply;
  reply.Add("", response);
  return reply;
}

TEST(CompareTest, EqualRepliesAreEqual) { EXPECT_EQ(Compare(With(Response()), With(Response())), ""); }

TEST(CompareTest, IdsAndTermsDoNotCount) {
  etcdserverpb::TxnResponse other = Response();
  other.mutable_header()->set_cluster_id(2);
  other.mutable_header()->set_member_id(3);
  other.mutable_header()->set_raft_term(4);
  other.mutable_responses(0)->mutable_response_range()->mutable_header()->set_raft_term(5);
  EXPECT_EQ(Compare(With(Response()), With(other)), "");
}

TEST(CompareTest, RevisionsCountAtEveryDepth) {
  etcdserverpb::TxnResponse outer = Response();
  outer.mutable_header()->set_revision(8);
  EXPECT_NE(Compare(With(Response()), With(outer)), "");
  etcdserverpb::TxnResponse inner = Response();
  inner.mutable_responses(0)->mutable_response_range()->mutable_header()->set_revision(8);
  EXPECT_NE(Compare(With(Response()), With(inner)), "");
}

TEST(CompareTest, AnEmptyHeaderIsNotAMissingOne) {
  etcdserverpb::TxnResponse with_header = Response();
  with_header.add_responses()->mutable_response_txn()->mutable_header();
  etcdserverpb::TxnResponse without_header = Response();
  without_header.add_responses()->mutable_response_txn();
  EXPECT_NE(Compare(With(with_header), With(without_header)), "");
}

TEST(CompareTest, OneByteOfAValueCounts) {
  etcdserverpb::TxnResponse other = Response();
  other.mutable_responses(0)->mutable_response_range()->mutable_kvs(0)->set_value(std::string(1, '\0'));
  EXPECT_NE(Compare(With(Response()), With(other)), "");
}

TEST(CompareTest, CodeAndTextOfErrorsCount) {
  Reply one;
  one.status = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "etcdserver: key is not provided");
  Reply other_text = one;
  other_text.status = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "etcdserver: key is not given");
  Reply other_code = one;
  other_code.status = grpc::Status(grpc::StatusCode::NOT_FOUND, "etcdserver: key is not provided");
  EXPECT_EQ(Compare(one, one), "");
  EXPECT_NE(Compare(one, other_text), "");
  EXPECT_NE(Compare(one, other_code), "");
}

TEST(CompareTest, AFaultOfOneSideIsADifference) {
  Reply faulty = With(Response());
  faulty.faults.emplace_back("events for a watch that is not there");
  EXPECT_NE(Compare(With(Response()), faulty), "");
}

TEST(CompareTest, TheWatchAnEventCameOnCounts) {
  etcdserverpb::WatchResponse events;
  events.add_events()->mutable_kv()->set_key("a");
  Reply first;
  first.Add("stream 0 watch 1", events);
  Reply second;
  second.Add("stream 0 watch 2", events);
  EXPECT_NE(Compare(first, second), "");
}

TEST(OperationTest, RelativeRevisionsAreResolvedAtEveryDepth) {
  etcdserverpb::TxnRequest txn;
  txn.add_compare()->set_mod_revision(FromCurrent(-2));
  etcdserverpb::RangeRequest* range =
      txn.add_success()->mutable_request_txn()->add_failure()->mutable_request_range();
  range->set_revision(FromCompacted(1));
  range->set_limit(5);
  Resolve(Progress{.current = 10, .compacted = 4}, &txn);
  EXPECT_EQ(txn.compare(0).mod_revision(), 8);
  EXPECT_EQ(range->revision(), 5);
  EXPECT_EQ(range->limit(), 5);
}

TEST(OperationTest, RelativeRevisionsAreReadable) {
  etcdserverpb::RangeRequest range;
  range.set_key("a");
  range.set_revision(FromCurrent(-2));
  EXPECT_EQ(Describe(Operation(range)), "Range { key: \"a\" revision: current-2 }");
}

}  // namespace
}  // namespace kvist::blackbox
