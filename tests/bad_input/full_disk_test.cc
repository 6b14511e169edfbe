// A disk that is full: writes are refused, and all else goes on; with space again, writes do too.
//
// Needs the right to mount a small file system. Where that is missing the test is skipped, but not in CI.

#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/bad_input/fixture.h"
#include "tests/support/watch_stream.h"

namespace kvist::blackbox {
namespace {

using grpc::StatusCode;

constexpr char kNoSpace[] = "etcdserver: mvcc: database space exceeded";
constexpr std::size_t kValueBytes = 100'000;
constexpr int kMorePutsThanFit = 400;

class FullDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(disk_);
    if (mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=16m") != 0) {
      const char* ci = std::getenv("CI");
      ASSERT_TRUE(ci == nullptr || std::string(ci) != "true") << "cannot mount: " << std::strerror(errno);
      GTEST_SKIP() << "a small file system cannot be mounted here: " << std::strerror(errno);
    }
    is_mounted_ = true;
    options_.data_dir = disk_ + "/data";
    options_.log_file = directory_.path() + "/log";  // not on the full disk
    Start();
  }

  void TearDown() override {
    server_.reset();
    if (is_mounted_) umount(disk_.c_str());
  }

  void Start() {
    auto server = ServerProcess::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    client_ = std::make_unique<Client>(server_->port());
  }

  grpc::Status Put(const std::string& key, const std::string& value) {
    Call call;
    etcdserverpb::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    etcdserverpb::PutResponse response;
    return client_->kv->Put(&call, request, &response);
  }

  etcdserverpb::RangeResponse ReadAll() {
    Call call;
    etcdserverpb::RangeRequest request;
    request.set_key(std::string(1, '\0'));
    request.set_range_end(std::string(1, '\0'));
    etcdserverpb::RangeResponse response;
    const grpc::Status status = client_->kv->Range(&call, request, &response);
    EXPECT_TRUE(status.ok()) << Describe(status);
    return response;
  }

  // Puts until one is refused. Returns how it was refused.
  grpc::Status FillUp() {
    for (int i = 0; i < kMorePutsThanFit; ++i) {
      const std::string key = absl::StrCat("fill/", 1000 + i);
      const std::string value(kValueBytes, static_cast<char>('a' + i % 26));
      grpc::Status status = Put(key, value);
      if (!status.ok()) return status;
      acknowledged_[key] = value;
    }
    return grpc::Status::OK;
  }

  void ExpectAllThere() {
    const etcdserverpb::RangeResponse all = ReadAll();
    std::map<std::string, std::string> found;
    for (const mvccpb::KeyValue& kv : all.kvs()) found[kv.key()] = kv.value();
    EXPECT_TRUE(found == acknowledged_)
        << found.size() << " keys, " << acknowledged_.size() << " acknowledged";
    EXPECT_EQ(all.header().revision(), 1 + std::ssize(acknowledged_)) << "each put is one revision";
  }

  const TempDir directory_;
  const std::string disk_ = directory_.path() + "/disk";
  bool is_mounted_ = false;
  ServerOptions options_ = ServerUnderTest();
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::map<std::string, std::string> acknowledged_;
};

TEST_F(FullDiskTest, WritesAreRefusedAndAllElseGoesOn) {
  const grpc::Status refused = FillUp();
  ASSERT_TRUE(Refused(refused, StatusCode::RESOURCE_EXHAUSTED, kNoSpace));
  ASSERT_GT(acknowledged_.size(), 20U) << "the disk was full too soon";
  EXPECT_TRUE(Refused(Put("more", std::string(kValueBytes, 'x')), StatusCode::RESOURCE_EXHAUSTED, kNoSpace));
  ExpectAllThere();

  // A watch reads its past, too.
  WatchStream watch(*client_);
  etcdserverpb::WatchCreateRequest create;
  create.set_key("fill/1000");
  create.set_start_revision(1);
  watch.Create(create);
  ASSERT_TRUE(watch.Next(std::chrono::seconds(10)).has_value());
  const std::optional<etcdserverpb::WatchResponse> event = watch.Next(std::chrono::seconds(10));
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->events_size(), 1);
}

TEST_F(FullDiskTest, WithSpaceAgainWritesGoOnWithoutARestart) {
  ASSERT_TRUE(Refused(FillUp(), StatusCode::RESOURCE_EXHAUSTED, kNoSpace));
  ASSERT_EQ(mount("tmpfs", disk_.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0) << std::strerror(errno);
  const std::string value(kValueBytes, 'y');
  const grpc::Status status = Put("more", value);
  ASSERT_TRUE(status.ok()) << Describe(status);
  acknowledged_["more"] = value;
  ExpectAllThere();
}

TEST_F(FullDiskTest, AServerKilledOnAFullDiskStartsAgain) {
  ASSERT_TRUE(Refused(FillUp(), StatusCode::RESOURCE_EXHAUSTED, kNoSpace));
  server_->Kill9();
  ASSERT_NO_FATAL_FAILURE(Start());
  ExpectAllThere();
}

}  // namespace
}  // namespace kvist::blackbox
