// Watches that start in the past or whose reader is slow: what comes from the log, and the way back to
// what comes live.

#include "watch/catch_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "watch/dispatcher.h"
#include "watch/publisher.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CatchUpTest : public ::testing::Test {
 protected:
  void AwaitSynced() {
    ASSERT_TRUE(Eventually([&] { return publisher_->Counters().slow_watchers == 0; }));
  }
  void PutMany(const std::string& key, int count) {
    for (int i = 0; i < count; ++i) engine_.Put(key, absl::StrCat(i));
  }
  // The revisions of all events in `deliveries`, in order.
  static std::vector<kv::Revision> Revisions(const std::vector<Delivery>& deliveries) {
    std::vector<kv::Revision> revisions;
    for (const Delivery& delivery : deliveries) {
      if (delivery.kind != DeliveryKind::kEvents) continue;
      for (const std::string& text : EventTexts(*delivery.events)) {
        revisions.push_back(std::stoll(text.substr(text.find("mod=") + 4)));
      }
    }
    return revisions;
  }
  static std::vector<kv::Revision> FromTo(kv::Revision first, kv::Revision last) {
    std::vector<kv::Revision> revisions;
    for (kv::Revision revision = first; revision <= last; ++revision) revisions.push_back(revision);
    return revisions;
  }
  // Fills the stream's queue with events of `key`, which one of its watches wants, until one did not fit.
  void FillQueue(const std::string& key) {
    while (publisher_->Counters().slow_watchers == 0) engine_.Put(key, "fill");
  }

  FakeEngine engine_;
  std::unique_ptr<Publisher> publisher_ = Publisher::Create(&engine_);
  Client client_{publisher_.get()};
};

TEST_F(CatchUpTest, HistoryComesInOneDeliveryWithTheCurrentRevision) {
  engine_.Put("k", "1");
  engine_.Commit({PutOf("k", "2"), PutOf("x", "2"), PutOf("kk", "2")});
  engine_.Delete("k");
  engine_.Put("x", "3");
  client_->Create({.key = "k", .range_end = "l", .start_revision = 3, .prev_kv = true});
  EXPECT_THAT(client_.AwaitTexts(2),
              ElementsAre("created 0 @5",
                          "events 0 @5: put k=2 create=2 mod=3 prev=1, put kk=2 create=3 mod=3, "
                          "delete k mod=4 prev=2"));
  AwaitSynced();
  engine_.Put("k", "4");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 0 @6: put k=4 create=6 mod=6"));
}

TEST_F(CatchUpTest, TheNewestRevisionIsHistoryToo) {
  engine_.Put("k", "1");
  client_->Create({.key = "k", .start_revision = 2});
  EXPECT_THAT(client_.AwaitTexts(2), ElementsAre("created 0 @2", "events 0 @2: put k=1 create=2 mod=2"));
}

TEST_F(CatchUpTest, FiltersHoldForHistory) {
  engine_.Put("k", "1");
  engine_.Delete("k");
  client_->Create({.key = "k", .start_revision = 1, .no_put = true});
  client_->Create({.key = "k", .start_revision = 1, .no_put = true, .no_delete = true});
  EXPECT_THAT(client_.AwaitTexts(3),
              UnorderedElementsAre("created 0 @3", "created 1 @3", "events 0 @3: delete k mod=3"));
  AwaitSynced();
  EXPECT_THAT(client_.TakeTexts(), IsEmpty());
}

TEST_F(CatchUpTest, ADeliveryHasAThousandRevisionsAtMost) {
  PutMany("k", 2500);  // 2 to 2501
  client_->Create({.key = "k", .start_revision = 2});
  const std::vector<Delivery> taken = client_.Await(4);
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[1].events->count(), 1000U);
  EXPECT_EQ(taken[2].events->count(), 1000U);
  EXPECT_EQ(taken[3].events->count(), 500U);
  for (const Delivery& delivery : taken) EXPECT_EQ(delivery.revision, 2501);
  EXPECT_EQ(Revisions(taken), FromTo(2, 2501));
}

TEST_F(CatchUpTest, ADeliveryIsBoundInBytesButARevisionIsNeverSplit) {
  const std::size_t third = kRoundBytesMax / 3;
  engine_.Put("k", std::string(third, 'a'));
  engine_.Commit({PutOf("k", std::string(third, 'b')), PutOf("kk", std::string(third, 'b')),
                  PutOf("kkk", std::string(third, 'b'))});
  engine_.Put("k", "c");
  client_->Create({.key = "k", .range_end = "l", .start_revision = 2});
  const std::vector<Delivery> taken = client_.Await(3);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[1].events->count(), 4U);
  EXPECT_EQ(taken[2].events->count(), 1U);
  EXPECT_EQ(Revisions(taken), (std::vector<kv::Revision>{2, 3, 3, 3, 4}));
}

TEST_F(CatchUpTest, ALongStretchOfOthersKeysIsNoObstacle) {
  engine_.Put("k", "1");
  for (std::size_t i = 0; i < kRoundScanMax + 10; ++i)
    engine_.Append({PutOf(absl::StrCat("other", i % 7), "x")});
  engine_.Publish();
  const kv::Revision last = engine_.Put("k", "2");
  client_->Create({.key = "k", .start_revision = 1});
  EXPECT_THAT(client_.AwaitTexts(3),
              ElementsAre(absl::StrCat("created 0 @", last),
                          absl::StrCat("events 0 @", last, ": put k=1 create=2 mod=2"),
                          absl::StrCat("events 0 @", last, ": put k=2 create=2 mod=", last)));
}

TEST_F(CatchUpTest, WatchersWithDifferentStartsShareARound) {
  PutMany("k", 20);  // 2 to 21
  engine_.FailReads(absl::UnavailableError("storage"));
  for (kv::Revision start = 2; start <= 21; ++start) client_->Create({.key = "k", .start_revision = start});
  const int failed_calls = engine_.read_log_calls();
  engine_.FailReads(absl::OkStatus());
  const std::vector<Delivery> taken = client_.Await(40);
  ASSERT_EQ(taken.size(), 40U);
  for (const Delivery& delivery : taken) {
    if (delivery.kind != DeliveryKind::kEvents) continue;
    EXPECT_EQ(delivery.events->count(), static_cast<std::size_t>(20 - delivery.watch_id));
  }
  AwaitSynced();
  // All that waited when reading worked again took part in one round.
  EXPECT_LE(engine_.read_log_calls(), failed_calls + 3);
}

TEST_F(CatchUpTest, ProgressIsDroppedWhileCatchingUp) {
  engine_.Put("k", "1");
  engine_.FailReads(absl::UnavailableError("storage"));
  client_->Create({.key = "k", .start_revision = 2, .progress_notify = true});
  client_->Create({.key = "x", .progress_notify = true});
  client_->RequestProgress();
  client_->Tick();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @2", "created 1 @2", "progress 1 @2"));
  EXPECT_EQ(publisher_->Counters().slow_watchers, 1);
  engine_.FailReads(absl::OkStatus());
  EXPECT_THAT(client_.AwaitTexts(1), ElementsAre("events 0 @2: put k=1 create=2 mod=2"));
  AwaitSynced();
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("progress -1 @2"));
}

// What is committed while a round reads.

TEST_F(CatchUpTest, CommitsDuringARoundFollowIt) {
  engine_.Put("k", "1");
  std::atomic<int> hooks = 0;
  engine_.AfterReadLog([&] {
    if (hooks++ > 0) return;
    engine_.Put("k", "2");
    engine_.Commit({PutOf("x", "3"), PutOf("k", "3")});
  });
  client_->Create({.key = "k", .start_revision = 1, .prev_kv = true});
  EXPECT_THAT(client_.AwaitTexts(4), ElementsAre("created 0 @2", "events 0 @2: put k=1 create=2 mod=2",
                                                 "events 0 @3: put k=2 create=2 mod=3 prev=1",
                                                 "events 0 @4: put k=3 create=2 mod=4 prev=2"));
  AwaitSynced();
  EXPECT_EQ(engine_.read_log_calls(), 1);
  engine_.Put("k", "4");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 0 @5: put k=4 create=2 mod=5 prev=3"));
}

TEST_F(CatchUpTest, MoreCommitsThanAreKeptTakeAnotherRound) {
  engine_.Put("k", "x");
  std::atomic<int> hooks = 0;
  engine_.AfterReadLog([&] {
    if (hooks++ == 0) PutMany("k", static_cast<int>(kTailRecordsMax) + 1);
  });
  client_->Create({.key = "k", .start_revision = 1});
  const std::vector<Delivery> taken = client_.Await(3);
  ASSERT_EQ(taken.size(), 3U);
  const kv::Revision last = engine_.CurrentRevision();
  EXPECT_EQ(Revisions(taken), FromTo(2, last));
  EXPECT_EQ(taken[1].revision, last);
  EXPECT_EQ(taken[2].revision, last);
  EXPECT_EQ(engine_.read_log_calls(), 2);
}

TEST_F(CatchUpTest, AWatchCanceledDuringARoundGetsNothingMore) {
  engine_.Put("k", "1");
  engine_.AfterReadLog([&] {
    client_->Cancel(0);
    engine_.AfterReadLog({});
    engine_.Put("k", "2");
  });
  client_->Create({.key = "k", .start_revision = 1, .watch_id = 0});
  EXPECT_THAT(client_.AwaitTexts(2), ElementsAre("created 0 @2", "canceled 0 @2"));
  ASSERT_TRUE(Eventually([&] { return engine_.CurrentRevision() == 3; }));
  client_->Create({.key = "k", .start_revision = 3});
  EXPECT_THAT(client_.AwaitTexts(2), ElementsAre("created 1 @3", "events 1 @3: put k=2 create=2 mod=3"));
}

TEST_F(CatchUpTest, AStreamMayEndDuringARound) {
  engine_.Put("k", "1");
  std::atomic<bool> closed = false;
  engine_.AfterReadLog([&] {
    if (!closed) client_.Close();
    closed = true;
  });
  client_->Create({.key = "k", .start_revision = 1});
  ASSERT_TRUE(Eventually([&] { return closed.load(); }));
  engine_.AfterReadLog({});
  Client other(publisher_.get());
  other->Create({.key = "k", .start_revision = 1});
  EXPECT_THAT(other.AwaitTexts(2), ElementsAre("created 0 @2", "events 0 @2: put k=1 create=2 mod=2"));
  EXPECT_EQ(publisher_->Counters().streams, 1);
}

// Failures of the store.

TEST_F(CatchUpTest, AFailedReadIsTriedAgain) {
  engine_.Put("k", "1");
  engine_.FailReads(absl::UnavailableError("storage"));
  client_->Create({.key = "k", .start_revision = 1});
  ASSERT_TRUE(Eventually([&] { return engine_.read_log_calls() > 0; }));
  engine_.FailReads(absl::OkStatus());
  EXPECT_THAT(client_.AwaitTexts(2), ElementsAre("created 0 @2", "events 0 @2: put k=1 create=2 mod=2"));
}

TEST_F(CatchUpTest, AnUnreadablePrevKvDelaysTheEventAndNeverSpoilsIt) {
  engine_.Put("k", "1");
  client_->Create({.key = "k", .prev_kv = true});
  client_->Create({.key = "k"});
  client_.TakeAll();
  engine_.FailReads(absl::UnavailableError("storage"));
  engine_.Put("k", "2");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 1 @3: put k=2 create=2 mod=3"));
  engine_.FailReads(absl::OkStatus());
  EXPECT_THAT(client_.AwaitTexts(1), ElementsAre("events 0 @3: put k=2 create=2 mod=3 prev=1"));
}

// Compaction.

TEST_F(CatchUpTest, AStartBelowTheCompactedRevisionIsCreatedAndCanceled) {
  PutMany("k", 5);
  engine_.SetCompacted(4);
  client_->Create({.key = "k", .start_revision = 3});
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @6", "compacted 0 at 4"));
  EXPECT_EQ(publisher_->Counters().watchers, 0);
  client_->Create({.key = "k", .start_revision = 4, .watch_id = 7});
  const std::vector<Delivery> taken = client_.Await(2);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(Text(taken[0]), "created 7 @6");
  EXPECT_EQ(Revisions(taken), FromTo(4, 6));
}

TEST_F(CatchUpTest, CompactionOvertakesAWatcherThatCannotRead) {
  PutMany("k", 5);
  engine_.FailReads(absl::UnavailableError("storage"));
  client_->Create({.key = "k", .start_revision = 3});
  client_->Create({.key = "k", .start_revision = 5});
  engine_.SetCompacted(5);
  engine_.FailReads(absl::OkStatus());
  const std::vector<Delivery> taken = client_.Await(4);
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(Text(taken[2]), "compacted 0 at 5");
  EXPECT_EQ(taken[3].watch_id, 1);
  EXPECT_EQ(Revisions(taken), FromTo(5, 6));
}

TEST_F(CatchUpTest, AWatchEndedByCompactionKeepsItsIdUntilItIsCanceled) {
  PutMany("k", 5);
  engine_.SetCompacted(4);
  client_->Create({.key = "k", .start_revision = 3});
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @6", "compacted 0 at 4"));
  client_->Create({.key = "k", .watch_id = 1});
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 1 @6")) << "no progress meanwhile";
  client_->Cancel(0);
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("canceled 0 @6", "progress -1 @6"));
  client_->Cancel(0);
  EXPECT_THAT(client_.TakeTexts(), IsEmpty());
}

// Slow readers.

TEST_F(CatchUpTest, ASlowReaderLosesNothingAndCostsOthersNothing) {
  client_->Create({.key = "k"});
  Client quick(publisher_.get());
  quick->Create({.key = "k"});
  std::vector<Delivery> quick_taken = quick.TakeAll();
  const int count = static_cast<int>(kQueueDeliveriesMax) + 3000;
  for (int i = 0; i < count; ++i) {
    engine_.Put("k", absl::StrCat(i));
    for (Delivery& delivery : quick.TakeAll()) quick_taken.push_back(std::move(delivery));
  }
  EXPECT_EQ(Revisions(quick_taken), FromTo(2, engine_.CurrentRevision()));
  EXPECT_TRUE(client_->Full());
  EXPECT_EQ(publisher_->Counters().slow_watchers, 1);
  EXPECT_EQ(engine_.read_log_calls(), 0);  // not before there is room

  std::vector<Delivery> taken;
  const kv::Revision last = engine_.CurrentRevision();
  EXPECT_TRUE(Eventually([&] {
    client_->Take(100, &taken);
    return Revisions(taken).size() == static_cast<std::size_t>(count);
  }));
  EXPECT_EQ(Revisions(taken), FromTo(2, last));
  AwaitSynced();
  engine_.Put("k", "end");
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre(absl::StrCat("events 0 @", last + 1, ": put k=end create=2 mod=", last + 1)));
}

TEST_F(CatchUpTest, AReaderSlowInBytesLosesNothing) {
  client_->Create({.key = "k"});
  const std::size_t size = std::size_t{1} << 20;
  for (int i = 0; i < 30; ++i) engine_.Put("k", std::string(size, 'v'));
  EXPECT_TRUE(client_->Full());
  std::vector<Delivery> taken;
  EXPECT_TRUE(Eventually([&] {
    client_->Take(1, &taken);
    return Revisions(taken).size() == 30;
  }));
  EXPECT_EQ(Revisions(taken), FromTo(2, 31));
}

TEST_F(CatchUpTest, CompactionOvertakesASlowReader) {
  client_->Create({.key = "k"});
  FillQueue("k");
  const kv::Revision missed = engine_.CurrentRevision();
  const kv::Revision last = engine_.Put("k", "more");
  engine_.SetCompacted(last);
  const std::vector<Delivery> taken = client_.Await(kQueueDeliveriesMax + 1);
  ASSERT_EQ(taken.size(), kQueueDeliveriesMax + 1);
  EXPECT_EQ(Text(taken.back()), absl::StrCat("compacted 0 at ", last));
  EXPECT_EQ(Revisions(taken), FromTo(2, missed - 1));
  EXPECT_EQ(publisher_->Counters().watchers, 0);
  EXPECT_EQ(publisher_->Counters().slow_watchers, 0);
}

TEST_F(CatchUpTest, RepliesToRequestsAreQueuedThoughItIsFullButProgressIsNot) {
  client_->Create({.key = "k", .progress_notify = true});
  client_->Create({.key = "x", .progress_notify = true});
  FillQueue("k");
  ASSERT_TRUE(client_->Full());
  client_->Tick();
  client_->RequestProgress();
  client_->Cancel(0);
  client_->RequestProgress();
  client_->Create({.key = "y"});
  const std::vector<std::string> texts = client_.TakeTexts();
  ASSERT_EQ(texts.size(), kQueueDeliveriesMax + 2);
  const kv::Revision current = engine_.CurrentRevision();
  EXPECT_EQ(texts[kQueueDeliveriesMax], absl::StrCat("canceled 0 @", current));
  EXPECT_EQ(texts[kQueueDeliveriesMax + 1], absl::StrCat("created 2 @", current));
}

TEST_F(CatchUpTest, AStreamMayEndWithWatchersInEveryPlace) {
  client_->Create({.key = "k"});
  client_->Create({.key = "x"});
  FillQueue("k");
  engine_.FailReads(absl::UnavailableError("storage"));
  client_->Create({.key = "k", .start_revision = 2});
  EXPECT_EQ(publisher_->Counters().slow_watchers, 2);
  client_.Close();
  const PublisherCounters counters = publisher_->Counters();
  EXPECT_EQ(counters.streams, 0);
  EXPECT_EQ(counters.watchers, 0);
  EXPECT_EQ(counters.slow_watchers, 0);
}

TEST_F(CatchUpTest, ThePublisherMayEndWhileTheStoreFails) {
  engine_.Put("k", "1");
  engine_.FailReads(absl::UnavailableError("storage"));
  client_->Create({.key = "k", .start_revision = 1});
  ASSERT_TRUE(Eventually([&] { return engine_.read_log_calls() > 0; }));
  client_.Close();
  publisher_.reset();
}

}  // namespace
}  // namespace kvist::watch
