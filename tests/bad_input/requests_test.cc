// Requests whose fields are wrong: exact codes and texts, and nothing changed by any of them.

#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/bad_input/fixture.h"
#include "tests/support/watch_stream.h"

namespace kvist::blackbox {
namespace {

using grpc::StatusCode;

constexpr char kNoKey[] = "etcdserver: key is not provided";
constexpr char kSortOption[] = "etcdserver: invalid sort option";
constexpr char kCompacted[] = "etcdserver: mvcc: required revision has been compacted";
constexpr char kFuture[] = "etcdserver: mvcc: required revision is a future revision";

class RequestsTest : public BadInputTest {
 protected:
  grpc::Status PutText(const std::string& text) {
    Call call;
    etcdserverpb::PutResponse response;
    return client().kv->Put(&call, FromText<etcdserverpb::PutRequest>(text), &response);
  }
  grpc::Status Stream(const std::string& text) {
    Call call;
    const auto stream = client().kv->RangeStream(&call, FromText<etcdserverpb::RangeRequest>(text));
    etcdserverpb::RangeStreamResponse response;
    while (stream->Read(&response)) ADD_FAILURE() << "an answer: " << Describe(response);
    return stream->Finish();
  }
  // The one response to a watch create request that is refused.
  etcdserverpb::WatchResponse RefusedWatch(WatchStream* stream, const std::string& text) {
    stream->Create(FromText<etcdserverpb::WatchCreateRequest>(text));
    std::optional<etcdserverpb::WatchResponse> response = stream->Next(std::chrono::seconds(10));
    if (!response) {
      ADD_FAILURE() << "no answer to a watch of " << text;
      return {};
    }
    EXPECT_EQ(response->header().revision(), Revision());
    response->clear_header();
    return *response;
  }
};

TEST_F(RequestsTest, EmptyKeys) {
  EXPECT_TRUE(Refused(Range(R"(limit: 3)"), StatusCode::INVALID_ARGUMENT, kNoKey));
  EXPECT_TRUE(Refused(Range(R"(range_end: "b")"), StatusCode::INVALID_ARGUMENT, kNoKey));
  EXPECT_TRUE(Refused(PutText(R"(value: "v")"), StatusCode::INVALID_ARGUMENT, kNoKey));
  EXPECT_TRUE(Refused(Stream(R"(range_end: "b")"), StatusCode::INVALID_ARGUMENT, kNoKey));
  Call call;
  etcdserverpb::DeleteRangeResponse response;
  etcdserverpb::DeleteRangeRequest request;
  request.set_range_end(std::string(1, '\0'));
  EXPECT_TRUE(
      Refused(client().kv->DeleteRange(&call, request, &response), StatusCode::INVALID_ARGUMENT, kNoKey));
}

TEST_F(RequestsTest, EmptyKeysInTxns) {
  for (const char* text :
       {R"(compare { version: 1 })", R"(success { request_put { value: "v" } })",
        R"(failure { request_range { range_end: "b" } })",
        R"(failure { request_txn { success { request_delete_range { range_end: "b" } } } })"}) {
    EXPECT_TRUE(Refused(Txn(FromText<etcdserverpb::TxnRequest>(text)), StatusCode::INVALID_ARGUMENT, kNoKey))
        << text;
  }
}

TEST_F(RequestsTest, UnknownSortOrdersAndTargets) {
  for (const int unknown : {-1, 3, 5, 77, std::numeric_limits<int>::max()}) {
    const std::string order = absl::StrCat("key: 'a' sort_order: ", unknown);
    EXPECT_TRUE(Refused(Range(order), StatusCode::INVALID_ARGUMENT, kSortOption)) << order;
    if (unknown == 3) continue;  // as a target that is MOD
    const std::string target = absl::StrCat("key: 'a' sort_target: ", unknown);
    EXPECT_TRUE(Refused(Range(target), StatusCode::INVALID_ARGUMENT, kSortOption)) << target;
    const std::string in_txn = absl::StrCat("success { request_range { ", target, " } }");
    EXPECT_TRUE(
        Refused(Txn(FromText<etcdserverpb::TxnRequest>(in_txn)), StatusCode::INVALID_ARGUMENT, kSortOption));
  }
}

TEST_F(RequestsTest, UnknownCompareResultsPassAndUnknownTargetsAreEqual) {
  ASSERT_TRUE(Put("known", "v").ok());
  Wrote();
  Call call;
  etcdserverpb::TxnResponse response;
  ASSERT_TRUE(
      client()
          .kv
          ->Txn(&call, FromText<etcdserverpb::TxnRequest>(R"(compare { key: "known" result: 9 version: 5 })"),
                &response)
          .ok());
  EXPECT_TRUE(response.succeeded());
  Call second;
  ASSERT_TRUE(
      client()
          .kv
          ->Txn(&second,
                FromText<etcdserverpb::TxnRequest>(R"(compare { key: "known" target: 9 result: GREATER })"),
                &response)
          .ok());
  EXPECT_FALSE(response.succeeded());
}

TEST_F(RequestsTest, NegativeLimitsAndRevisionsMeanNone) {
  ASSERT_TRUE(Put("negative/1", "v").ok());
  ASSERT_TRUE(Put("negative/2", "v").ok());
  Wrote();
  for (const char* fields :
       {"limit: -1", "limit: -9223372036854775808", "revision: -1", "revision: -9223372036854775808"}) {
    etcdserverpb::RangeResponse response;
    EXPECT_TRUE(Range(absl::StrCat("key: 'negative/' range_end: 'negative0' ", fields), &response).ok())
        << fields;
    EXPECT_EQ(response.kvs_size(), 2) << fields;
    EXPECT_FALSE(response.more()) << fields;
  }
}

TEST_F(RequestsTest, RevisionsThatCannotBeRead) {
  const std::int64_t current = Revision();
  const std::string future = absl::StrCat("key: 'a' revision: ", current + 1);
  EXPECT_TRUE(Refused(Range(future), StatusCode::OUT_OF_RANGE, kFuture));
  EXPECT_TRUE(Refused(Range("key: 'a' revision: 9223372036854775807"), StatusCode::OUT_OF_RANGE, kFuture));
  EXPECT_TRUE(Refused(Stream(future), StatusCode::OUT_OF_RANGE, kFuture));
  EXPECT_TRUE(Refused(Compact(current + 1), StatusCode::OUT_OF_RANGE, kFuture));

  ASSERT_TRUE(Put("compact", "me").ok());
  Wrote();
  ASSERT_TRUE(Compact(current + 1).ok());
  EXPECT_TRUE(Range(absl::StrCat("key: 'a' revision: ", current + 1)).ok());
  const std::string past = absl::StrCat("key: 'a' revision: ", current);
  EXPECT_TRUE(Refused(Range(past), StatusCode::OUT_OF_RANGE, kCompacted));
  EXPECT_TRUE(Refused(Stream(past), StatusCode::OUT_OF_RANGE, kCompacted));
  for (const std::int64_t revision : {current + 1, current, std::int64_t{0}, std::int64_t{-1}}) {
    EXPECT_TRUE(Refused(Compact(revision), StatusCode::OUT_OF_RANGE, kCompacted)) << revision;
  }
  // A write in the branch taken does not happen when a read there cannot.
  const std::string half =
      absl::StrCat("success { request_put { key: 'half' } } success { request_range { ", past, " } }");
  EXPECT_TRUE(Refused(Txn(FromText<etcdserverpb::TxnRequest>(half)), StatusCode::OUT_OF_RANGE, kCompacted));
  etcdserverpb::RangeResponse response;
  ASSERT_TRUE(Range("key: 'half'", &response).ok());
  EXPECT_EQ(response.count(), 0);
}

TEST_F(RequestsTest, PutsThatContradictThemselves) {
  EXPECT_TRUE(Refused(PutText(R"(key: "a" value: "v" ignore_value: true)"), StatusCode::INVALID_ARGUMENT,
                      "etcdserver: value is provided"));
  EXPECT_TRUE(Refused(PutText(R"(key: "a" lease: 5 ignore_lease: true)"), StatusCode::INVALID_ARGUMENT,
                      "etcdserver: lease is provided"));
  EXPECT_TRUE(Refused(PutText(R"(key: "missing" ignore_value: true)"), StatusCode::INVALID_ARGUMENT,
                      "etcdserver: key not found"));
  EXPECT_TRUE(Refused(PutText(R"(key: "missing" ignore_lease: true)"), StatusCode::INVALID_ARGUMENT,
                      "etcdserver: key not found"));
  for (const char* lease : {"1234", "-1", "-9223372036854775808"}) {
    EXPECT_TRUE(Refused(PutText(absl::StrCat("key: 'a' lease: ", lease)), StatusCode::NOT_FOUND,
                        "etcdserver: requested lease not found"));
  }
}

TEST_F(RequestsTest, StreamsOfRangesTakeNoOrderAndNoBounds) {
  EXPECT_TRUE(Refused(Stream("key: 'a' sort_order: DESCEND"), StatusCode::UNIMPLEMENTED,
                      "RangeStream does not support custom sort orders"));
  EXPECT_TRUE(Refused(Stream("key: 'a' max_create_revision: -1"), StatusCode::UNIMPLEMENTED,
                      "RangeStream does not support revision filters"));
  EXPECT_TRUE(Refused(Stream("key: 'a' sort_order: 9"), StatusCode::INVALID_ARGUMENT, kSortOption));
}

TEST_F(RequestsTest, WatchesThatCannotBe) {
  WatchStream stream(client());
  EXPECT_EQ(Describe(RefusedWatch(&stream, R"(key: "b" range_end: "a")")),
            R"(watch_id: -1 created: true canceled: true cancel_reason: "mvcc: watcher range is empty")");
  EXPECT_EQ(Describe(RefusedWatch(&stream, R"(key: "b" range_end: "b")")),
            R"(watch_id: -1 created: true canceled: true cancel_reason: "mvcc: watcher range is empty")");
  EXPECT_EQ(Describe(RefusedWatch(&stream, R"(key: "b" start_revision: -1)")),
            R"(watch_id: -1 created: true canceled: true cancel_reason: )"
            R"("etcdserver: mvcc: required revision has been compacted")");
  EXPECT_EQ(Describe(RefusedWatch(&stream, R"(key: "b" watch_id: 7)")), "watch_id: 7 created: true");
  EXPECT_EQ(Describe(RefusedWatch(&stream, R"(key: "c" watch_id: 7)")),
            R"(watch_id: -1 created: true canceled: true cancel_reason: )"
            R"("mvcc: duplicate watch ID provided on the WatchStream")");
  // The stream lives on, and so does its one watch.
  ASSERT_TRUE(Put("b", "v").ok());
  Wrote();
  const std::optional<etcdserverpb::WatchResponse> event = stream.Next(std::chrono::seconds(10));
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->watch_id(), 7);
  EXPECT_EQ(event->events_size(), 1);
}

}  // namespace
}  // namespace kvist::blackbox
