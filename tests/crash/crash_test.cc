// Is what kvist acknowledged still there after kill -9? Round after round on one data directory: clients
// write at random, the server is killed at a random moment and started again, and its whole history is
// compared with what the clients were told.
//
//   KVIST_ROUNDS=200 KVIST_SEED=7 crash_test    a long run; the seed repeats the choices, not the timing

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/crash/chronicle.h"
#include "tests/crash/writer.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/watch_stream.h"

namespace kvist::blackbox {
namespace {

constexpr int kWriters = 4;
constexpr auto kPatience = std::chrono::seconds(20);
constexpr std::int64_t kReadsARound = 200;

std::unique_ptr<WatchStream> WatchAll(const Client& client, std::int64_t from) {
  auto stream = std::make_unique<WatchStream>(client);
  etcdserverpb::WatchCreateRequest create;
  create.set_key(std::string(1, '\0'));
  create.set_range_end(std::string(1, '\0'));
  create.set_start_revision(from);
  stream->Create(create);
  return stream;
}

// What a watch sends from revision `from` to revision `to`. If `from` is compacted, *compacted is set and
// nothing returned.
std::vector<mvccpb::Event> Walk(const Client& client, std::int64_t from, std::int64_t to,
                                std::int64_t* compacted) {
  std::vector<mvccpb::Event> events;
  const auto stream = WatchAll(client, from);
  while (from <= to && (events.empty() || events.back().kv().mod_revision() < to)) {
    const std::optional<etcdserverpb::WatchResponse> response = stream->Next(kPatience);
    if (!response) {
      ADD_FAILURE() << "a watch from " << from << " to " << to << " stopped after " << events.size()
                    << " events";
      break;
    }
    if (response->canceled()) {
      *compacted = response->compact_revision();
      return {};
    }
    events.insert(events.end(), response->events().begin(), response->events().end());
  }
  return events;
}

class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    options_ = ServerUnderTest();
    options_.data_dir = directory_.path() + "/data";
    Start();
  }

  void Start() {
    auto server = ServerProcess::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    options_.port = server_->port();  // it comes back where it was
    client_ = std::make_unique<Client>(options_.port);
  }

  // Lets writers work until the server is killed under them. Returns what a watcher saw meanwhile.
  std::vector<mvccpb::Event> WriteUntilKilled(int round);
  // After the restart.
  void CheckHistory();
  void CheckResumedWatch(const std::vector<mvccpb::Event>& seen_before);
  void CheckReads();
  void CheckState();

  etcdserverpb::RangeResponse Range(const std::string& key, const std::string& end, std::int64_t revision) {
    Call call;
    etcdserverpb::RangeRequest request;
    request.set_key(key);
    request.set_range_end(end);
    request.set_revision(revision);
    etcdserverpb::RangeResponse response;
    const grpc::Status status = client_->kv->Range(&call, request, &response);
    EXPECT_TRUE(status.ok()) << Describe(status) << " at revision " << revision;
    return response;
  }

  const TempDir directory_;
  Random random_{ChooseSeed()};
  ServerOptions options_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
  Chronicle chronicle_;
  std::int64_t compacted_ = 1;             // history from here on must be there
  std::vector<std::int64_t> compactions_;  // asked for, in this round
};

std::vector<mvccpb::Event> CrashTest::WriteUntilKilled(int round) {
  const auto watch = WatchAll(*client_, chronicle_.last_revision() + 1);
  std::vector<std::unique_ptr<Writer>> writers;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(std::make_unique<Writer>(absl::StrCat("r", round, "w", i), options_.port,
                                               chronicle_.last_revision(),
                                               static_cast<std::uint64_t>(random_.Below(1 << 30))));
    threads.emplace_back([writer = writers.back().get()] { writer->Run(); });
  }
  // Short and long lives alike.
  std::this_thread::sleep_for(std::chrono::microseconds(random_.Between(1, 1 << random_.Between(12, 20))));
  server_->Kill9();
  for (std::thread& thread : threads) thread.join();

  std::vector<Attempt> attempts;
  compactions_.clear();
  for (const auto& writer : writers) {
    EXPECT_EQ(writer->fault(), "");
    attempts.insert(attempts.end(), writer->attempts().begin(), writer->attempts().end());
    compactions_.insert(compactions_.end(), writer->compactions().begin(), writer->compactions().end());
    compacted_ = std::max(compacted_, writer->compacted());
  }
  chronicle_.AddAttempts(std::move(attempts));
  std::vector<mvccpb::Event> seen;
  while (const auto response = watch->Next(kPatience)) {
    seen.insert(seen.end(), response->events().begin(), response->events().end());
  }
  return seen;
}

void CrashTest::CheckHistory() {
  const std::int64_t current = Range("a", "", 0).header().revision();
  std::int64_t further = 0;
  std::int64_t first = std::max<std::int64_t>(compacted_, 2);
  std::vector<mvccpb::Event> events = Walk(*client_, first, current, &further);
  if (further != 0) {  // a compaction took place that nobody was told of
    EXPECT_NE(std::find(compactions_.begin(), compactions_.end(), further), compactions_.end())
        << "compacted at " << further << ", which nobody asked for";
    compacted_ = first = further;
    events = Walk(*client_, first, current, &further);
  }
  std::string fault;
  const std::vector<Moment> moments = SplitByRevision(events, first, &fault);
  ASSERT_EQ(fault, "");
  ASSERT_EQ(chronicle_.Learn(first, moments), "");
  ASSERT_EQ(chronicle_.CheckAcknowledged(), "");
  ASSERT_EQ(chronicle_.last_revision(), current);
}

// What was seen before the crash is history, and from there a new watch sees exactly the rest.
void CrashTest::CheckResumedWatch(const std::vector<mvccpb::Event>& seen_before) {
  const std::int64_t last_seen = seen_before.empty() ? 0 : seen_before.back().kv().mod_revision();
  ASSERT_LE(last_seen, chronicle_.last_revision()) << "an event was seen of a write that is gone";
  std::int64_t compacted = 0;
  std::vector<mvccpb::Event> all = seen_before;
  if (last_seen >= compacted_) {
    const auto rest = Walk(*client_, last_seen + 1, chronicle_.last_revision(), &compacted);
    ASSERT_EQ(compacted, 0);
    all.insert(all.end(), rest.begin(), rest.end());
  }
  std::map<std::int64_t, std::size_t> counts;
  for (const mvccpb::Event& event : all) {
    const std::int64_t revision = event.kv().mod_revision();
    const std::size_t index = counts[revision]++;
    if (revision < compacted_) continue;
    ASSERT_LT(index, chronicle_.At(revision).size()) << "too many events at revision " << revision;
    ASSERT_EQ(event.SerializeAsString(), chronicle_.At(revision)[index].SerializeAsString());
  }
  for (const auto& [revision, count] : counts) {
    if (revision < compacted_) continue;
    ASSERT_EQ(count, chronicle_.At(revision).size()) << "at revision " << revision;
  }
}

// Acknowledged writes are read at their revision, and groups are whole.
void CrashTest::CheckReads() {
  std::int64_t reads = 0;
  for (const auto& [id, attempt] : chronicle_.attempts()) {
    if (attempt.revision < compacted_ || attempt.puts.empty()) continue;
    if (++reads > kReadsARound) break;
    const etcdserverpb::RangeResponse one = Range(attempt.puts[0], "", attempt.revision);
    ASSERT_EQ(one.kvs_size(), 1) << attempt.puts[0] << " at " << attempt.revision;
    EXPECT_EQ(one.kvs(0).value(), id);
    EXPECT_EQ(one.kvs(0).mod_revision(), attempt.revision);
    const std::string group = absl::StrCat("group/", 10 + random_.Below(kGroups), "/");
    const etcdserverpb::RangeResponse all = Range(group, PrefixEnd(group), attempt.revision);
    ASSERT_TRUE(all.kvs_size() == 0 || all.kvs_size() == kKeysOfAGroup) << Describe(all);
    for (const mvccpb::KeyValue& kv : all.kvs()) EXPECT_EQ(kv.value(), all.kvs(0).value());
  }
}

void CrashTest::CheckState() {
  const etcdserverpb::RangeResponse all = Range(std::string(1, '\0'), std::string(1, '\0'), 0);
  std::map<std::string, std::string> state;
  for (const mvccpb::KeyValue& kv : all.kvs()) state[kv.key()] = kv.value();
  EXPECT_EQ(state, chronicle_.state());
}

TEST_F(CrashTest, WhatWasAcknowledgedSurvives) {
  const std::int64_t rounds = NumberFromEnvironment("KVIST_ROUNDS", 10);
  std::size_t acknowledged = 0;
  std::size_t unanswered = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    const std::vector<mvccpb::Event> seen = WriteUntilKilled(round);
    ASSERT_NO_FATAL_FAILURE(Start());
    ASSERT_NO_FATAL_FAILURE(CheckHistory());
    ASSERT_NO_FATAL_FAILURE(CheckResumedWatch(seen));
    ASSERT_NO_FATAL_FAILURE(CheckReads());
    CheckState();
    chronicle_.Forget(compacted_);
    for (const auto& [id, attempt] : chronicle_.attempts())
      ++(attempt.revision != 0 ? acknowledged : unanswered);
  }
  std::printf("%lld rounds, %zu writes acknowledged, %zu unanswered, history %lld..%lld\n",
              static_cast<long long>(rounds), acknowledged, unanswered, static_cast<long long>(compacted_),
              static_cast<long long>(chronicle_.last_revision()));
  // A run in which nothing was written, or nothing was under way when the server died, proves nothing.
  EXPECT_GT(acknowledged, static_cast<std::size_t>(rounds));
  EXPECT_GT(unanswered, static_cast<std::size_t>(rounds) / 2);
}

}  // namespace
}  // namespace kvist::blackbox
