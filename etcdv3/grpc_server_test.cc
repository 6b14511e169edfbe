// The front door with clients at it: unary calls, refusals, limits, and the end of a server.

#include "etcdv3/grpc_server.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "etcdv3/server_test_support.h"
#include "proto/etcdserverpb.grpc.pb.h"
#include "proto/health.grpc.pb.h"

namespace kvist::etcdv3 {
namespace {

using etcdserverpb::KV;

constexpr char kIds[] = "cluster_id: 14841639068965178418 member_id: 10276657743932975437";

std::string Header(int revision) {
  return "header { " + std::string(kIds) + " revision: " + std::to_string(revision) + " raft_term: 2 }";
}

// Sends `bytes` to a unary method by its path and returns the status.
std::string CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                    const std::string& bytes, std::string* reply = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
  call->StartCall();
  call->Finish(&response, &status, &call);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  if (reply != nullptr && status.ok()) {
    grpc::Slice whole;
    EXPECT_TRUE(response.DumpToSingleSlice(&whole).ok());
    reply->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return Verdict(status);
}

class GrpcServerTest : public testing::Test {
 protected:
  template <typename Request, typename Response>
  std::string Call(grpc::Status (KV::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    return status.ok() ? Text(response) : Verdict(status);
  }

  std::string Put(const std::string& key, const std::string& value) {
    etcdserverpb::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    return Call(&KV::Stub::Put, request);
  }

  std::string Range(const std::string& key, int revision = 0) {
    etcdserverpb::RangeRequest request;
    request.set_key(key);
    request.set_revision(revision);
    return Call(&KV::Stub::Range, request);
  }

  TestServer server_;
  std::shared_ptr<grpc::Channel> channel_ = server_.NewChannel();
  std::unique_ptr<KV::Stub> stub_ = KV::NewStub(channel_);
};

TEST_F(GrpcServerTest, PutAndRange) {
  EXPECT_EQ(Range("k"), Header(1));
  EXPECT_EQ(Put("k", "v"), Header(2));
  EXPECT_EQ(Range("k"), Header(2) +
                            " kvs { key: \"k\" create_revision: 2 mod_revision: 2 version: 1 value: "
                            "\"v\" } count: 1");
  EXPECT_EQ(Put("", "v"), "3: etcdserver: key is not provided");
  EXPECT_EQ(Range("k", 9), "11: etcdserver: mvcc: required revision is a future revision");
}

TEST_F(GrpcServerTest, DeleteTxnAndCompact) {
  Put("k", "v");
  etcdserverpb::TxnRequest txn;
  txn.add_compare()->set_key("k");
  txn.mutable_compare(0)->set_target(etcdserverpb::Compare::VALUE);
  txn.mutable_compare(0)->set_value("v");
  txn.add_success()->mutable_request_range()->set_key("k");
  txn.mutable_success(0)->mutable_request_range()->set_count_only(true);
  EXPECT_EQ(Call(&KV::Stub::Txn, txn),
            Header(2) + " succeeded: true responses { response_range { header { revision: 2 } count: 1 } }");
  txn.add_success()->mutable_request_put()->set_key("l");
  EXPECT_EQ(Call(&KV::Stub::Txn, txn),
            Header(3) +
                " succeeded: true responses { response_range { header { revision: 2 } count: 1 } } "
                "responses { response_put { header { revision: 3 } } }");
  etcdserverpb::DeleteRangeRequest remove;
  remove.set_key("a");
  remove.set_range_end("z");
  EXPECT_EQ(Call(&KV::Stub::DeleteRange, remove), Header(4) + " deleted: 2");
  etcdserverpb::CompactionRequest compact;
  compact.set_revision(3);
  EXPECT_EQ(Call(&KV::Stub::Compact, compact), Header(4));
  EXPECT_EQ(Call(&KV::Stub::Compact, compact), "11: etcdserver: mvcc: required revision has been compacted");
  EXPECT_EQ(Range("k", 2), "11: etcdserver: mvcc: required revision has been compacted");
}

TEST_F(GrpcServerTest, ErrorsOfTheEngine) {
  etcdserverpb::PutRequest put;
  put.set_key("k");
  put.set_ignore_value(true);
  EXPECT_EQ(Call(&KV::Stub::Put, put), "3: etcdserver: key not found");
  put.set_ignore_value(false);
  put.set_lease(77);
  EXPECT_EQ(Call(&KV::Stub::Put, put), "5: etcdserver: requested lease not found");
}

TEST_F(GrpcServerTest, ActorIsThePeer) {
  Put("k", "v");
  std::string actor;
  ASSERT_TRUE(server_.store()
                  ->ReadLog(2,
                            [&](const kv::LogRecord& record) {
                              actor = server_.store()->ActorName(record.actor);
                              return true;
                            })
                  .ok());
  EXPECT_EQ(actor, "unix");
}

TEST_F(GrpcServerTest, MethodsThatAreNotServed) {
  EXPECT_EQ(
      CallRaw(channel_, "/etcdserverpb.Lease/LeaseGrant", ""),
      "12: method LeaseGrant of service etcdserverpb.Lease is not implemented by this version of kvist");
  EXPECT_EQ(CallRaw(channel_, "/etcdserverpb.KV/Frob", ""),
            "12: unknown method Frob for service etcdserverpb.KV");
  EXPECT_EQ(CallRaw(channel_, "/etcdserverpb.Frob/Range", ""), "12: unknown service etcdserverpb.Frob");
  EXPECT_EQ(
      CallRaw(channel_, "/etcdserverpb.Lease/LeaseGrant", std::string(3000000, 'x')),
      "12: method LeaseGrant of service etcdserverpb.Lease is not implemented by this version of kvist");
}

TEST_F(GrpcServerTest, GarbageIsRefusedAndTheServerGoesOn) {
  constexpr char kText[] =
      "13: grpc: error unmarshalling request: proto: cannot parse invalid wire-format data";
  for (const char* method : {"Range", "Put", "DeleteRange", "Txn", "Compact"}) {
    EXPECT_EQ(CallRaw(channel_, std::string("/etcdserverpb.KV/") + method, "\xff\xff garbage"), kText);
  }
  for (const char* path :
       {"/etcdserverpb.Maintenance/Status", "/etcdserverpb.Maintenance/Alarm",
        "/etcdserverpb.Cluster/MemberList", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/List"}) {
    EXPECT_EQ(CallRaw(channel_, path, "\xff\xff garbage"), kText);
  }
  EXPECT_EQ(Put("k", "v"), Header(2));
}

TEST_F(GrpcServerTest, ACallWithoutAMessage) {
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  auto call = stub.PrepareCall(&context, "/etcdserverpb.KV/Range", &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  };
  call->StartCall(nullptr);
  wait();
  call->WritesDone(nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_EQ(Verdict(status), "2: EOF");
}

TEST_F(GrpcServerTest, SizesOnBothSidesOfTheLimits) {
  // key and value with their tags and lengths: 3 + 4 bytes; etcd's envelope: 17.
  constexpr std::size_t kLargest = 1572864 - 17 - 7;
  EXPECT_EQ(Put("k", std::string(kLargest, 'v')), Header(2));
  EXPECT_EQ(Put("k", std::string(kLargest + 1, 'v')), "3: etcdserver: request is too large");
  constexpr std::size_t kMessage = 2097152;
  EXPECT_EQ(Put("k", std::string(kMessage - 7, 'v')), "3: etcdserver: request is too large");
  EXPECT_EQ(Put("k", std::string(kMessage - 6, 'v')),
            "8: grpc: received message larger than max (2097153 vs. 2097152)");
  EXPECT_EQ(Put("k", std::string(10 << 20, 'v')),
            "8: grpc: received message larger than max (10485768 vs. 2097152)");
  EXPECT_EQ(Put("k", "v"), Header(3));
}

TEST_F(GrpcServerTest, LargeRepliesArriveWhole) {
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "big" + std::to_string(10 + i);
    const std::string value(100000, static_cast<char>('a' + i % 26));
    server_.Put(key, value);
    expected += key + value;
  }
  etcdserverpb::RangeRequest request;
  request.set_key("big");
  request.set_range_end("bih");
  for (const int limit : {1, 3, 40}) {
    request.set_limit(limit);
    grpc::ClientContext context;
    etcdserverpb::RangeResponse response;
    ASSERT_EQ(Verdict(stub_->Range(&context, request, &response)), "OK");
    std::string got;
    for (const auto& kv : response.kvs()) got += kv.key() + kv.value();
    EXPECT_EQ(response.kvs_size(), limit);
    EXPECT_EQ(got, expected.substr(0, got.size()));
    EXPECT_EQ(got.size(), static_cast<std::size_t>(limit) * 100005);
    EXPECT_EQ(response.count(), 40);
    EXPECT_EQ(response.more(), limit < 40);
  }
}

TEST_F(GrpcServerTest, StatusAndMembers) {
  auto maintenance = etcdserverpb::Maintenance::NewStub(channel_);
  Put("k", "v");
  grpc::ClientContext context;
  etcdserverpb::StatusResponse status;
  ASSERT_EQ(Verdict(maintenance->Status(&context, {}, &status)), "OK");
  EXPECT_EQ(Text(status), Header(2) +
                              " version: \"3.7.1\" dbSize: 8192 leader: 10276657743932975437 raftIndex: 2 "
                              "raftTerm: 2 raftAppliedIndex: 2 dbSizeInUse: 4096 storageVersion: \"3.7.0\" "
                              "dbSizeQuota: 2147483648 downgradeInfo { }");
  grpc::ClientContext alarm_context;
  etcdserverpb::AlarmRequest get_alarms;
  etcdserverpb::AlarmResponse alarms;
  ASSERT_EQ(Verdict(maintenance->Alarm(&alarm_context, get_alarms, &alarms)), "OK");
  EXPECT_EQ(Text(alarms), Header(2));
  grpc::ClientContext activate_context;
  get_alarms.set_action(etcdserverpb::AlarmRequest::ACTIVATE);
  EXPECT_EQ(Verdict(maintenance->Alarm(&activate_context, get_alarms, &alarms)),
            "12: raising an alarm is not implemented by this version of kvist");
  auto cluster = etcdserverpb::Cluster::NewStub(channel_);
  grpc::ClientContext members_context;
  etcdserverpb::MemberListResponse members;
  ASSERT_EQ(Verdict(cluster->MemberList(&members_context, {}, &members)), "OK");
  EXPECT_EQ(Text(members),
            "header { " + std::string(kIds) +
                " raft_term: 2 } members { ID: 10276657743932975437 name: "
                "\"default\" peerURLs: \"http://localhost:2380\" clientURLs: \"http://localhost:2379\" }");
}

TEST_F(GrpcServerTest, Health) {
  auto health = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse response;
  {
    grpc::ClientContext context;
    ASSERT_EQ(Verdict(health->Check(&context, request, &response)), "OK");
    EXPECT_EQ(Text(response), "status: SERVING");
  }
  grpc::ClientContext watch_context;
  auto watch = health->Watch(&watch_context, request);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(Text(response), "status: SERVING");
  watch_context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);

  request.set_service("etcdserverpb.KV");
  {
    grpc::ClientContext context;
    EXPECT_EQ(Verdict(health->Check(&context, request, &response)), "5: unknown service");
  }
  grpc::ClientContext unknown_context;
  auto unknown = health->Watch(&unknown_context, request);
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(Text(response), "status: SERVICE_UNKNOWN");
  unknown_context.TryCancel();
  std::string list;
  EXPECT_EQ(CallRaw(channel_, "/grpc.health.v1.Health/List", "", &list), "OK");
  EXPECT_EQ(list, "\x0a\x04\x12\x02\x08\x01");
}

TEST_F(GrpcServerTest, ManyClientsAtOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> failures{0};
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      auto stub = KV::NewStub(server_.NewChannel());
      for (int i = 0; i < 100; ++i) {
        grpc::ClientContext put_context;
        etcdserverpb::PutRequest put;
        etcdserverpb::PutResponse put_response;
        put.set_key("c" + std::to_string(c));
        put.set_value(std::to_string(i));
        if (!stub->Put(&put_context, put, &put_response).ok()) ++failures;
        grpc::ClientContext range_context;
        etcdserverpb::RangeRequest range;
        etcdserverpb::RangeResponse response;
        range.set_key(put.key());
        if (!stub->Range(&range_context, range, &response).ok()) ++failures;
        if (response.kvs_size() != 1 || response.kvs(0).value() != put.value()) ++failures;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(server_.store()->CurrentRevision(), 801);
}

// An engine whose writes wait to be let through.
class HeldEngine final : public kv::Engine {
 public:
  explicit HeldEngine(kv::Engine* engine) : engine_(engine) {}

  void Submit(kv::Write* write, kv::Lead lead) override {
    {
      MutexLock lock(&mu_);
      if (held_) return waiting_.push_back(write);
    }
    engine_->Submit(write, lead);
  }

  [[nodiscard]] std::size_t waiting() {
    MutexLock lock(&mu_);
    return waiting_.size();
  }

  void LetThrough() {
    std::vector<kv::Write*> writes;
    {
      MutexLock lock(&mu_);
      held_ = false;
      writes.swap(waiting_);
    }
    for (kv::Write* write : writes) engine_->Submit(write, kv::Lead::kWriterThread);
  }

  [[nodiscard]] kv::Revision CurrentRevision() const override { return engine_->CurrentRevision(); }
  [[nodiscard]] kv::Revision CompactedRevision() const override { return engine_->CompactedRevision(); }
  absl::Status Range(const kv::RangeRequest& request, kv::RangeResult* result) override {
    return engine_->Range(request, result);
  }
  absl::Status ReadOnlyTxn(const kv::TxnRequest& request, kv::TxnResult* result) override {
    return engine_->ReadOnlyTxn(request, result);
  }
  absl::Status ReadLog(kv::Revision from, absl::FunctionRef<bool(const kv::LogRecord&)> visit) override {
    return engine_->ReadLog(from, visit);
  }
  [[nodiscard]] std::string ActorName(std::uint32_t actor) const override {
    return engine_->ActorName(actor);
  }
  void SetCommitListener(kv::CommitListener* listener) override { engine_->SetCommitListener(listener); }

 private:
  kv::Engine* const engine_;
  Mutex mu_;
  bool held_ GUARDED_BY(mu_) = true;
  std::vector<kv::Write*> waiting_ GUARDED_BY(mu_);
};

class HeldWriteTest : public testing::Test {
 protected:
  HeldWriteTest() {
    TestServerOptions options;
    options.wrap_engine = [this](kv::Engine* engine) {
      held_ = std::make_unique<HeldEngine>(engine);
      return held_.get();
    };
    options.grpc.slow_call = std::chrono::milliseconds(50);
    options.grpc.report_slow_call = [this](const SlowCall& call) {
      MutexLock lock(&mu_);
      reports_.push_back(std::string(call.method) + " " + std::string(call.peer) + " " +
                         std::to_string(call.request_bytes) + " " + std::to_string(call.reply_bytes) +
                         (call.took > std::chrono::milliseconds(50) ? " slow" : " quick"));
    };
    server_ = std::make_unique<TestServer>(std::move(options));
    stub_ = KV::NewStub(server_->NewChannel());
  }

  std::string Put(std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    etcdserverpb::PutRequest request;
    etcdserverpb::PutResponse response;
    request.set_key("k");
    return Verdict(stub_->Put(&context, request, &response));
  }

  std::vector<std::string> Reports() {
    MutexLock lock(&mu_);
    return reports_;
  }

  Mutex mu_;
  std::vector<std::string> reports_ GUARDED_BY(mu_);
  std::unique_ptr<HeldEngine> held_;
  std::unique_ptr<TestServer> server_;  // before what it uses is gone
  std::unique_ptr<KV::Stub> stub_;
};

TEST_F(HeldWriteTest, ADeadlinePassesAndTheWriteStillHappens) {
  EXPECT_EQ(Put(std::chrono::milliseconds(100)), "4: Deadline Exceeded");
  held_->LetThrough();
  EXPECT_TRUE(Eventually([&] { return server_->store()->CurrentRevision() == 2; }));
  EXPECT_EQ(Put(std::chrono::seconds(10)), "OK");
}

TEST_F(HeldWriteTest, ShutdownWaitsForCallsUnderWay) {
  auto put = std::async(std::launch::async, [&] { return Put(std::chrono::seconds(30)); });
  ASSERT_TRUE(Eventually([&] { return held_->waiting() == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_->server()->Shutdown(std::chrono::seconds(30)); });
  EXPECT_EQ(shutdown.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  held_->LetThrough();
  EXPECT_EQ(put.get(), "OK");
  shutdown.get();
  EXPECT_EQ(server_->store()->CurrentRevision(), 2);
}

TEST_F(HeldWriteTest, ShutdownCancelsWhatTakesTooLong) {
  auto put = std::async(std::launch::async, [&] { return Put(std::chrono::seconds(30)); });
  ASSERT_TRUE(Eventually([&] { return held_->waiting() == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_->server()->Shutdown(std::chrono::milliseconds(50)); });
  EXPECT_NE(put.get(), "OK");
  held_->LetThrough();  // the engine still owns the write: only now may the call go
  shutdown.get();
}

TEST_F(HeldWriteTest, SlowCallsAreReported) {
  auto put = std::async(std::launch::async, [&] { return Put(std::chrono::seconds(30)); });
  ASSERT_TRUE(Eventually([&] { return held_->waiting() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  held_->LetThrough();
  EXPECT_EQ(put.get(), "OK");
  // A 29-byte reply: a header with two ids of nine and ten bytes.
  EXPECT_EQ(Reports(), std::vector<std::string>{"/etcdserverpb.KV/Put unix 3 28 slow"});
}

TEST(GrpcServerStartTest, AnAddressInUseIsRefused) {
  const auto start = [](const std::string& address) {
    GrpcServerOptions options;
    options.addresses = {address};
    return GrpcServer::Start({}, options);
  };
  auto first = start("127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  const int port = (*first)->ports().at(0);
  EXPECT_GT(port, 0);
  auto second = start("127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace kvist::etcdv3
