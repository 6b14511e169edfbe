// Watch over a socket: what a stream says, how it ends, and that an end frees what it held.

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "etcdv3/server_test_support.h"
#include "proto/etcdserverpb.grpc.pb.h"

namespace kvist::etcdv3 {
namespace {

using etcdserverpb::WatchRequest;
using etcdserverpb::WatchResponse;

// A client's stream of watches.
class Stream {
 public:
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel,
                  std::chrono::milliseconds timeout = std::chrono::seconds(60))
      : stub_(etcdserverpb::Watch::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + timeout);
    ops_ = stub_->Watch(&context_);
  }
  ~Stream() {
    context_.TryCancel();
    if (!finished_) ops_->Finish();
  }

  void Create(const std::string& key, const std::string& range_end = "",
              const std::function<void(etcdserverpb::WatchCreateRequest*)>& more = {}) {
    WatchRequest request;
    request.mutable_create_request()->set_key(key);
    request.mutable_create_request()->set_range_end(range_end);
    if (more) more(request.mutable_create_request());
    EXPECT_TRUE(ops_->Write(request));
  }
  void Write(const WatchRequest& request) { EXPECT_TRUE(ops_->Write(request)); }
  void HalfClose() { EXPECT_TRUE(ops_->WritesDone()); }
  void Cancel() { context_.TryCancel(); }

  WatchResponse Read() {
    WatchResponse response;
    EXPECT_TRUE(ops_->Read(&response));
    return response;
  }
  // The next response without the ids of its header.
  std::string ReadText() {
    WatchResponse response = Read();
    response.mutable_header()->clear_cluster_id();
    response.mutable_header()->clear_member_id();
    response.mutable_header()->clear_raft_term();
    return Text(response);
  }
  // The status, behind nothing but progress.
  std::string End() {
    WatchResponse response;
    while (ops_->Read(&response)) {
      EXPECT_TRUE(!response.created() && !response.canceled() && response.events_size() == 0)
          << Text(response);
    }
    finished_ = true;
    return Verdict(ops_->Finish());
  }

 private:
  std::unique_ptr<etcdserverpb::Watch::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<WatchRequest, WatchResponse>> ops_;
  bool finished_ = false;
};

class WatchTest : public testing::Test {
 protected:
  static TestServerOptions Options() {
    TestServerOptions options;
    options.watch.progress_interval = std::chrono::milliseconds(100);
    options.watch.fragment_bytes = 10000;
    return options;
  }

  [[nodiscard]] bool NothingHeld() {
    return server_.publisher()->Counters().streams == 0 && server_.publisher()->Counters().watchers == 0;
  }

  TestServer server_{Options()};
  std::shared_ptr<grpc::Channel> channel_ = server_.NewChannel();
};

TEST_F(WatchTest, CreateEventsCancel) {
  Stream stream(channel_);
  stream.Create("k");
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } created: true");
  stream.Create("p", "q");
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: 1 created: true");
  server_.Put("k", "v");
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 2 } events { kv { key: \"k\" create_revision: 2 mod_revision: 2 "
            "version: 1 value: \"v\" } }");
  server_.Put("pp", "w");
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 3 } watch_id: 1 events { kv { key: \"pp\" create_revision: 3 "
            "mod_revision: 3 version: 1 value: \"w\" } }");
  WatchRequest cancel;
  cancel.mutable_cancel_request()->set_watch_id(1);
  stream.Write(cancel);
  EXPECT_EQ(stream.ReadText(), "header { revision: 3 } watch_id: 1 canceled: true");
  cancel.mutable_cancel_request()->set_watch_id(99);  // unknown: no answer
  stream.Write(cancel);
  stream.Write(WatchRequest());  // asks for nothing: no answer
  server_.Put("pp", "x");        // of the watch that is gone
  ASSERT_TRUE(server_.store()->DeleteRange({.key = "k"}).ok());
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 5 } events { type: DELETE kv { key: \"k\" mod_revision: 5 } }");
}

TEST_F(WatchTest, HeaderIsFull) {
  Stream stream(channel_);
  stream.Create("k");
  EXPECT_EQ(Text(stream.Read()),
            "header { cluster_id: 14841639068965178418 member_id: 10276657743932975437 "
            "revision: 1 raft_term: 2 } created: true");
}

TEST_F(WatchTest, RefusedCreationsKeepTheStream) {
  Stream stream(channel_);
  stream.Create("z", "a");
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 1 } watch_id: -1 created: true canceled: true cancel_reason: "
            "\"mvcc: watcher range is empty\"");
  stream.Create("k", "", [](auto* create) { create->set_watch_id(7); });
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: 7 created: true");
  stream.Create("k", "", [](auto* create) { create->set_watch_id(7); });
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 1 } watch_id: -1 created: true canceled: true cancel_reason: "
            "\"mvcc: duplicate watch ID provided on the WatchStream\"");
  stream.Create("k", "", [](auto* create) { create->set_start_revision(-1); });
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 1 } watch_id: -1 created: true canceled: true cancel_reason: "
            "\"etcdserver: mvcc: required revision has been compacted\"");
}

TEST_F(WatchTest, FromCompactedRevision) {
  for (int i = 0; i < 4; ++i) server_.Put("k", std::to_string(i));
  ASSERT_TRUE(server_.store()->Compact({.revision = 4}).ok());
  Stream stream(channel_);
  stream.Create("k", "", [](auto* create) { create->set_start_revision(2); });
  EXPECT_EQ(stream.ReadText(), "header { revision: 5 } created: true");
  EXPECT_EQ(stream.ReadText(), "header { } canceled: true compact_revision: 4");
}

TEST_F(WatchTest, HistoryComesWithPreviousPairs) {
  server_.Put("k", "1");
  server_.Put("k", "2");
  Stream stream(channel_);
  stream.Create("k", "", [](auto* create) {
    create->set_start_revision(3);
    create->set_prev_kv(true);
  });
  EXPECT_EQ(stream.ReadText(), "header { revision: 3 } created: true");
  EXPECT_EQ(stream.ReadText(),
            "header { revision: 3 } events { kv { key: \"k\" create_revision: 2 mod_revision: 3 "
            "version: 2 value: \"2\" } prev_kv { key: \"k\" create_revision: 2 mod_revision: 2 "
            "version: 1 value: \"1\" } }");
}

TEST_F(WatchTest, HalfCloseDoesNotEndTheStream) {
  Stream stream(channel_);
  stream.Create("k");
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } created: true");
  stream.HalfClose();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server_.Put("k", "v");
  EXPECT_EQ(stream.Read().events_size(), 1);
}

TEST_F(WatchTest, ProgressOnRequestAndPeriodically) {
  Stream stream(channel_);
  stream.Create("k");
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } created: true");
  WatchRequest progress;
  progress.mutable_progress_request();
  stream.Write(progress);
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: -1");
  stream.Create("l", "", [](auto* create) { create->set_progress_notify(true); });
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: 1 created: true");
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: 1");
  EXPECT_EQ(stream.ReadText(), "header { revision: 1 } watch_id: 1");
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(150));
}

TEST_F(WatchTest, LargeEventsAreSharedAndWhole) {
  const std::string value(200000, 'x');
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 5; ++i) {
    streams.push_back(std::make_unique<Stream>(channel_));
    streams.back()->Create("big");
    EXPECT_EQ(streams.back()->ReadText(), "header { revision: 1 } created: true");
  }
  server_.Put("big", value);
  for (const auto& stream : streams) {
    const WatchResponse response = stream->Read();
    ASSERT_EQ(response.events_size(), 1);
    EXPECT_EQ(response.events(0).kv().value(), value);
  }
}

TEST_F(WatchTest, LargeResponsesAreCutOnlyForThoseWhoAllowIt) {
  kv::TxnRequest txn;
  const std::string value(3000, 'x');
  std::vector<std::string> keys;
  for (int i = 0; i < 10; ++i) keys.push_back("f" + std::to_string(i));
  for (const std::string& key : keys) txn.success.push_back({kv::PutRequest{.key = key, .value = value}});
  ASSERT_TRUE(server_.store()->Txn(txn).ok());
  Stream stream(channel_);
  const auto from_start = [](bool fragment) {
    return [fragment](auto* create) {
      create->set_start_revision(2);
      create->set_fragment(fragment);
    };
  };
  stream.Create("f", "g", from_start(false));
  EXPECT_EQ(stream.ReadText(), "header { revision: 2 } created: true");
  EXPECT_EQ(stream.Read().events_size(), 10);
  stream.Create("f", "g", from_start(true));
  EXPECT_EQ(stream.ReadText(), "header { revision: 2 } watch_id: 1 created: true");
  std::string shape;
  std::string got;
  for (WatchResponse response;;) {
    response = stream.Read();
    EXPECT_EQ(response.watch_id(), 1);
    EXPECT_EQ(response.header().revision(), 2);
    EXPECT_LT(response.ByteSizeLong(), 10000U);
    for (const auto& event : response.events()) got += event.kv().key() + " ";
    shape += std::to_string(response.events_size()) + (response.fragment() ? "+" : ".");
    if (!response.fragment()) break;
  }
  EXPECT_EQ(shape, "3+3+3+1.");
  EXPECT_EQ(got, "f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 ");
}

TEST_F(WatchTest, NothingIsLostUnderABurst) {
  Stream stream(channel_);
  stream.Create("b", "c");
  stream.Create("b", "c");
  stream.Read();
  stream.Read();
  std::thread writer([&] {
    for (int i = 0; i < 3000; ++i) server_.Put("b" + std::to_string(i % 7), std::to_string(i));
  });
  kv::Revision next[2] = {2, 2};
  while (next[0] < 3002 || next[1] < 3002) {
    const WatchResponse response = stream.Read();
    for (const auto& event : response.events()) {
      ASSERT_EQ(event.kv().mod_revision(), next[response.watch_id()]++);
    }
  }
  writer.join();
}

TEST_F(WatchTest, EndsFreeWhatTheStreamHeld) {
  {
    Stream cancelled(channel_);
    cancelled.Create("k");
    cancelled.Read();
    Stream late(channel_, std::chrono::milliseconds(300));
    late.Create("k", "", [](auto* create) { create->set_progress_notify(true); });
    late.Read();
    EXPECT_EQ(server_.publisher()->Counters().streams, 2);
    cancelled.Cancel();
    EXPECT_EQ(cancelled.End(), "1: CANCELLED");
    EXPECT_EQ(late.End(), "4: Deadline Exceeded");
  }
  EXPECT_TRUE(Eventually([&] { return NothingHeld(); }));
}

// A client that is gone without a word, in the middle of a stream of large events that it does not read.
TEST_F(WatchTest, VanishedClientsAreForgotten) {
  auto channel = server_.NewChannel();
  auto stream = std::make_unique<Stream>(channel);
  stream->Create("k");
  stream->Read();
  for (int i = 0; i < 50; ++i) server_.Put("k", std::string(500000, 'x'));
  EXPECT_EQ(server_.publisher()->Counters().streams, 1);
  stream.reset();
  channel.reset();
  EXPECT_TRUE(Eventually([&] { return NothingHeld(); }));
  Stream other(channel_);
  other.Create("k");
  EXPECT_EQ(other.ReadText(), "header { revision: 51 } created: true");
}

TEST_F(WatchTest, GarbageEndsTheStream) {
  Stream stream(channel_);
  WatchRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1, "\xff");
  stream.Write(request);
  EXPECT_EQ(
      stream.End(),
      "13: grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data");
  EXPECT_TRUE(Eventually([&] { return NothingHeld(); }));
}

TEST_F(WatchTest, TooLargeARequestEndsTheStream) {
  Stream stream(channel_);
  stream.Create(std::string(3000000, 'k'));
  EXPECT_EQ(stream.End(), "8: grpc: received message larger than max (3000010 vs. 2097152)");
}

TEST_F(WatchTest, ShutdownEndsStreamsAtOnce) {
  Stream idle(channel_);
  idle.Create("k", "", [](auto* create) { create->set_progress_notify(true); });
  idle.Read();
  const auto before = std::chrono::steady_clock::now();
  server_.server()->Shutdown(std::chrono::seconds(20));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_EQ(idle.End(), "14: etcdserver: server stopped");
  EXPECT_TRUE(NothingHeld());
}

}  // namespace
}  // namespace kvist::etcdv3
