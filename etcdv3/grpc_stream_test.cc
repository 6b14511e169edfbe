// KV.RangeStream over a socket: in one piece it is what Range answers.

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "etcdv3/server_test_support.h"
#include "proto/etcdserverpb.grpc.pb.h"

namespace kvist::etcdv3 {
namespace {

using etcdserverpb::KV;

struct Streamed {
  std::vector<etcdserverpb::RangeResponse> chunks;
  std::string verdict;

  [[nodiscard]] std::string Merged() const {
    etcdserverpb::RangeResponse whole;
    for (const auto& chunk : chunks) whole.MergeFrom(chunk);
    return Text(whole);
  }
};

class RangeStreamTest : public testing::Test {
 protected:
  RangeStreamTest() : server_(Options()), stub_(KV::NewStub(server_.NewChannel())) {
    for (int i = 0; i < 500; ++i) server_.Put("k" + std::to_string(1000 + i), std::string(100, 'v'));
  }

  static TestServerOptions Options() {
    TestServerOptions options;
    options.range_chunk_bytes = 4000;
    return options;
  }

  Streamed Stream(const etcdserverpb::RangeRequest& request) {
    grpc::ClientContext context;
    Streamed streamed;
    auto reader = stub_->RangeStream(&context, request);
    etcdserverpb::RangeStreamResponse response;
    while (reader->Read(&response)) streamed.chunks.push_back(response.range_response());
    streamed.verdict = Verdict(reader->Finish());
    return streamed;
  }

  std::string Range(const etcdserverpb::RangeRequest& request) {
    grpc::ClientContext context;
    etcdserverpb::RangeResponse response;
    EXPECT_EQ(Verdict(stub_->Range(&context, request, &response)), "OK");
    return Text(response);
  }

  TestServer server_;
  std::unique_ptr<KV::Stub> stub_;
};

etcdserverpb::RangeRequest AllKeys() {
  etcdserverpb::RangeRequest request;
  request.set_key("k");
  request.set_range_end("l");
  return request;
}

TEST_F(RangeStreamTest, MergesToWhatRangeAnswers) {
  for (const int limit : {0, 1, 10, 11, 77, 499, 500, 501}) {
    etcdserverpb::RangeRequest request = AllKeys();
    request.set_limit(limit);
    const Streamed streamed = Stream(request);
    EXPECT_EQ(streamed.verdict, "OK");
    EXPECT_EQ(streamed.Merged(), Range(request)) << limit;
  }
}

TEST_F(RangeStreamTest, ChunksStartSmallAndOnlyTheLastHasTheRest) {
  const Streamed streamed = Stream(AllKeys());
  ASSERT_GT(streamed.chunks.size(), 5U);
  EXPECT_EQ(streamed.chunks[0].kvs_size(), 10);
  EXPECT_EQ(streamed.chunks[1].kvs_size(), 20);
  for (std::size_t i = 0; i + 1 < streamed.chunks.size(); ++i) {
    EXPECT_FALSE(streamed.chunks[i].has_header());
    EXPECT_EQ(streamed.chunks[i].count(), 0);
    EXPECT_FALSE(streamed.chunks[i].more());
    EXPECT_LT(streamed.chunks[i].ByteSizeLong(), 8000U);
  }
  EXPECT_EQ(streamed.chunks.back().header().revision(), 501);
  EXPECT_EQ(streamed.chunks.back().count(), 500);
}

TEST_F(RangeStreamTest, CountsAndMissesAreOneMessage) {
  etcdserverpb::RangeRequest request = AllKeys();
  request.set_count_only(true);
  EXPECT_EQ(Stream(request).chunks.size(), 1U);
  EXPECT_EQ(Stream(request).Merged(), Range(request));
  request = {};
  request.set_key("nothing");
  EXPECT_EQ(Stream(request).chunks.size(), 1U);
  EXPECT_EQ(Stream(request).Merged(), Range(request));
}

TEST_F(RangeStreamTest, KeysOnlyAndAnOldRevision) {
  etcdserverpb::RangeRequest request = AllKeys();
  request.set_keys_only(true);
  request.set_revision(300);
  EXPECT_EQ(Stream(request).Merged(), Range(request));
}

TEST_F(RangeStreamTest, Refusals) {
  EXPECT_EQ(Stream({}).verdict, "3: etcdserver: key is not provided");
  etcdserverpb::RangeRequest request = AllKeys();
  request.set_revision(9999);
  EXPECT_EQ(Stream(request).verdict, "11: etcdserver: mvcc: required revision is a future revision");
  request.set_sort_order(etcdserverpb::RangeRequest::DESCEND);
  EXPECT_EQ(Stream(request).verdict, "12: RangeStream does not support custom sort orders");
}

}  // namespace
}  // namespace kvist::etcdv3
