// Many clients at once, many watchers, and a compaction now and then: no error, no event lost or told twice,
// and memory that stays what it was.
//
//   KVIST_LOAD_SECONDS=60 load_test

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "tests/load/keys.h"
#include "tests/load/load_client.h"
#include "tests/load/subscriber.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

namespace kvist::blackbox {
namespace {

constexpr int kConnections = 8;
constexpr int kClients = 64;
constexpr int kStreams = 50;
constexpr int kWatchers = 1000;  // one for each key, the others for ten keys each
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kSampleEvery = std::chrono::milliseconds(50);
constexpr int kCompactEverySamples = 10;
constexpr std::int64_t kRevisionsKept = 1000;
// How much more memory of its own the server may hold at the end than in the middle of the run: a tenth
// for chance, and what the allocator may keep in hand.
constexpr double kGrowth = 1.10;
constexpr std::int64_t kGrowthBytes = 8 << 20;

// A sanitizer's allocator keeps what was freed to find later use of it, so that memory grows by design.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KVIST_SANITIZED_ALLOCATOR
#endif
#endif
#ifdef KVIST_SANITIZED_ALLOCATOR
constexpr bool kMemoryCanBeFlat = false;
#else
constexpr bool kMemoryCanBeFlat = true;
#endif

std::int64_t Median(std::vector<std::int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

// The keys that watcher `i` watches.
std::pair<std::string, std::string> WatchedRange(int i) {
  if (i < kLoadKeys) return {LoadKey(i), ""};
  const std::int64_t first = (i - kLoadKeys) * 9 % (kLoadKeys - 10);
  return {LoadKey(first), LoadKey(first + 10)};
}

class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options = ServerUnderTest();
    options.data_dir = directory_.path() + "/data";
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    for (int i = 0; i < kConnections; ++i) connections_.push_back(std::make_unique<Client>(server_->port()));
    for (int i = 0; i < kStreams; ++i) {
      std::vector<std::pair<std::string, std::string>> ranges;
      for (int watcher = i; watcher < kWatchers; watcher += kStreams) ranges.push_back(WatchedRange(watcher));
      subscribers_.push_back(std::make_unique<Subscriber>(*connections_[i % kConnections], ranges));
    }
  }

  void RunClients(std::chrono::seconds time);
  void CompactTo(std::int64_t back);
  std::map<std::string, std::int64_t> Versions();
  void PrintRates(std::chrono::duration<double> time);

  const TempDir directory_;
  std::unique_ptr<ServerProcess> server_;
  std::vector<std::unique_ptr<Client>> connections_;
  std::vector<std::unique_ptr<Subscriber>> subscribers_;
  std::vector<std::unique_ptr<LoadClient>> clients_;
  std::vector<std::int64_t> memory_;  // sampled through the run
};

// Leaves the newest `back` revisions.
void LoadTest::CompactTo(std::int64_t back) {
  Call read_call;
  etcdserverpb::RangeRequest read;
  read.set_key("load/");
  etcdserverpb::RangeResponse now;
  ASSERT_TRUE(connections_[0]->kv->Range(&read_call, read, &now).ok());
  if (now.header().revision() <= back) return;
  Call call;
  etcdserverpb::CompactionRequest request;
  request.set_revision(now.header().revision() - back);
  etcdserverpb::CompactionResponse response;
  const grpc::Status status = connections_[0]->kv->Compact(&call, request, &response);
  ASSERT_TRUE(status.ok()) << Describe(status);
}

void LoadTest::RunClients(std::chrono::seconds time) {
  const std::uint64_t seed = ChooseSeed();
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    clients_.push_back(std::make_unique<LoadClient>(*connections_[i % kConnections], seed + i));
    threads.emplace_back([&stop, client = clients_.back().get()] { client->Run(stop); });
  }
  const auto end = std::chrono::steady_clock::now() + time;
  for (int sample = 1; std::chrono::steady_clock::now() < end && !HasFailure(); ++sample) {
    std::this_thread::sleep_for(kSampleEvery);
    memory_.push_back(server_->OwnBytes());
    if (sample % kCompactEverySamples == 0) CompactTo(kRevisionsKept);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

std::map<std::string, std::int64_t> LoadTest::Versions() {
  Call call;
  etcdserverpb::RangeRequest request;
  request.set_key("load/");
  request.set_range_end(PrefixEnd("load/"));
  etcdserverpb::RangeResponse response;
  EXPECT_TRUE(connections_[0]->kv->Range(&call, request, &response).ok());
  std::map<std::string, std::int64_t> versions;
  for (const mvccpb::KeyValue& kv : response.kvs()) versions[kv.key()] = kv.version();
  return versions;
}

void LoadTest::PrintRates(std::chrono::duration<double> time) {
  const char* const names[kCallKinds] = {"put", "range", "txn"};
  for (int kind = 0; kind < kCallKinds; ++kind) {
    std::vector<std::uint32_t> all;
    for (const auto& client : clients_) {
      const auto& own = client->microseconds(static_cast<CallKind>(kind));
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_FALSE(all.empty()) << "no " << names[kind] << " was made";
    std::printf("%-5s %9.0f/s   p50 %6u us   p99 %6u us\n", names[kind],
                static_cast<double>(all.size()) / time.count(), all[all.size() / 2],
                all[all.size() * 99 / 100]);
  }
}

TEST_F(LoadTest, NoErrorNoLossAndFlatMemory) {
  const std::chrono::seconds time(NumberFromEnvironment("KVIST_LOAD_SECONDS", 5));
  RunClients(time);
  PrintRates(time);

  std::int64_t puts = 0;
  for (const auto& client : clients_) {
    EXPECT_EQ(client->fault(), "");
    puts += client->puts();
  }
  const std::map<std::string, std::int64_t> versions = Versions();
  std::int64_t sum_of_versions = 0;
  for (const auto& [key, version] : versions) sum_of_versions += version;
  EXPECT_EQ(sum_of_versions, puts) << "versions and acknowledged puts do not match";

  std::int64_t events = 0;
  for (const auto& subscriber : subscribers_) {
    EXPECT_EQ(subscriber->AwaitVersions(versions, kPatience), "");
    events += subscriber->events();
  }
  // One watch of each key and what the ranges have in addition.
  EXPECT_GE(events, puts);
  std::printf("%lld puts, %lld events to %d watchers\n", static_cast<long long>(puts),
              static_cast<long long>(events), kWatchers);

  const std::ptrdiff_t n = std::ssize(memory_);
  const std::int64_t middle = Median({memory_.begin() + n * 2 / 5, memory_.begin() + n * 3 / 5});
  const std::int64_t end = Median({memory_.begin() + n * 4 / 5, memory_.end()});
  std::printf(
      "memory of its own: %lld kB in the middle, %lld kB at the end; resident with mapped files: %lld kB\n",
      static_cast<long long>(middle >> 10), static_cast<long long>(end >> 10),
      static_cast<long long>(server_->ResidentBytes() >> 10));
  if (kMemoryCanBeFlat) {
    EXPECT_LE(static_cast<double>(end), kGrowth * static_cast<double>(middle) + kGrowthBytes);
  }
}

}  // namespace
}  // namespace kvist::blackbox
