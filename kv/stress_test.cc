// Many threads at once: what each may rely on while the others write, read and compact.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kv/errors.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

class StressTest : public StoreFixture {};

// A listener that checks that revisions come in order, without gaps.
class OrderChecker : public CommitListener {
 public:
  void OnCommit(const CommittedBatch& batch) override {
    for (const LogRecord& record : batch.records) {
      if (record.revision != last_ && record.revision != last_ + 1) gaps_.fetch_add(1);
      last_ = record.revision;
    }
  }
  [[nodiscard]] int gaps() const { return gaps_; }
  [[nodiscard]] Revision last() const { return last_; }

 private:
  Revision last_ = 1;
  std::atomic<int> gaps_ = 0;
};

TEST_F(StressTest, WritesFromManyThreadsAreEachOneRevisionInOrder) {
  constexpr int kThreads = 8;
  constexpr int kWrites = 300;
  OrderChecker checker;
  store().SetCommitListener(&checker);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Revision last = 0;
      for (int i = 0; i < kWrites; ++i) {
        const absl::StatusOr<PutResult> put =
            store().Put({.key = "shared", .value = std::to_string(t * kWrites + i)});
        if (!put.ok() || put->revision <= last) failures.fetch_add(1);
        if (put.ok()) last = put->revision;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  store().SetCommitListener(nullptr);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(checker.gaps(), 0);
  EXPECT_EQ(checker.last(), 1 + kThreads * kWrites);
  EXPECT_EQ(store().CurrentRevision(), 1 + kThreads * kWrites);
  KeyValueView kv;
  const RangeResult result = Range({.key = "shared"});
  ForEachKeyValue(result.kvs, [&](const KeyValueView& view) { kv = view; });
  EXPECT_EQ(kv.version, kThreads * kWrites);
}

// Every txn writes the same value to all keys of a group, so whatever a reader sees must be equal, and as
// many as it was told.
TEST_F(StressTest, ReadersSeeWholeTransactionsWhileCompactionRuns) {
  constexpr int kKeys = 1200;  // a range needs several pieces
  constexpr int kRounds = 40;
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back("group/" + std::to_string(10000 + i));
  std::atomic<bool> writing = true;
  std::atomic<int> torn = 0;
  std::atomic<int> reads = 0;
  const auto write = [&](int round) {
    const std::string value = std::to_string(round);
    TxnRequest txn;
    for (const std::string& key : keys) txn.success.push_back({PutRequest{.key = key, .value = value}});
    EXPECT_TRUE(store().Txn(txn).ok());
  };
  write(0);
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (writing) {
        RangeResult result;
        if (!store().Range({.key = "group/", .range_end = "group0"}, &result).ok()) torn.fetch_add(1);
        std::string first;
        int seen = 0;
        ForEachKeyValue(result.kvs, [&](const KeyValueView& kv) {
          if (seen++ == 0) first = std::string(kv.value);
          if (kv.value != first) torn.fetch_add(1);
        });
        if (seen != kKeys || result.count != kKeys) torn.fetch_add(1);
        reads.fetch_add(1);
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    write(round);
    if (round % 5 == 0) {
      EXPECT_TRUE(store().Compact({.revision = store().CurrentRevision()}).ok());
    }
  }
  writing = false;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(reads, 0);
}

// Keys appear and disappear while others count them: a count is of one revision, so it is the number of
// pairs that come with it.
TEST_F(StressTest, CountAgreesWithWhatIsReadWhileKeysComeAndGo) {
  std::atomic<bool> writing = true;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (writing) {
      RangeResult result;
      if (!store().Range({.key = "k", .range_end = "l"}, &result).ok()) wrong.fetch_add(1);
      std::int64_t seen = 0;
      ForEachKeyValue(result.kvs, [&](const KeyValueView&) { ++seen; });
      if (seen != result.count) wrong.fetch_add(1);
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        const std::string key = "k" + std::to_string(t) + "/" + std::to_string(i % 50);
        if (i / 50 % 2 == 0) {
          EXPECT_TRUE(store().Put({.key = key, .value = "v"}).ok());
        } else {
          EXPECT_TRUE(store().DeleteRange({.key = key}).ok());
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  writing = false;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(StressTest, WritesLedByTheWriterThreadAreAnsweredInOrder) {
  struct Recorded : Write {
    void Done() override {
      const std::lock_guard<std::mutex> lock(*mutex);
      revisions->push_back(status.ok() ? std::get<PutResult>(result).revision : 0);
    }
    std::mutex* mutex = nullptr;
    std::vector<Revision>* revisions = nullptr;
  };
  constexpr int kWrites = 500;
  std::mutex mutex;
  std::vector<Revision> revisions;
  std::vector<Recorded> writes(kWrites);
  for (Recorded& write : writes) {
    write.mutex = &mutex;
    write.revisions = &revisions;
    write.request = PutRequest{.key = "k", .value = "v"};
    store().Submit(&write, Lead::kWriterThread);
  }
  // Everything submitted before has been done when a later write has.
  ASSERT_TRUE(store().Put({.key = "last", .value = ""}).ok());
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(revisions.size(), static_cast<std::size_t>(kWrites));
  for (int i = 0; i < kWrites; ++i) EXPECT_EQ(revisions[static_cast<std::size_t>(i)], 2 + i);
}

}  // namespace
}  // namespace kvist::kv
