// What a watch stream answers, rule by rule, while its reader keeps up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "watch/publisher.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kZeroByte("\0", 1);

class RulesTest : public ::testing::Test {
 protected:
  FakeEngine engine_;
  std::unique_ptr<Publisher> publisher_ = Publisher::Create(&engine_);
  Client client_{publisher_.get()};
};

// Creation.

TEST_F(RulesTest, CreatedComesFirstAndEventsAfter) {
  engine_.Put("k", "0");
  client_->Create({.key = "k"});
  engine_.Put("k", "1");
  engine_.Put("other", "x");
  engine_.Put("k", "2");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @2", "events 0 @3: put k=1 create=2 mod=3",
                                               "events 0 @5: put k=2 create=2 mod=5"));
}

TEST_F(RulesTest, AFutureStartWaits) {
  client_->Create({.key = "k", .start_revision = 4});
  engine_.Put("k", "2");
  engine_.Put("k", "3");
  engine_.Put("k", "4");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @1", "events 0 @4: put k=4 create=2 mod=4"));
}

TEST_F(RulesTest, ANegativeStartIsRefused) {
  client_->Create({.key = "k", .start_revision = -1, .watch_id = 5});
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("refused @1: etcdserver: mvcc: required revision has been compacted"));
}

TEST_F(RulesTest, AnEmptyRangeIsRefusedAndTheStreamGoesOn) {
  client_->Create({.key = "b", .range_end = "a"});
  client_->Create({.key = "b", .range_end = "b"});
  client_->Create({.key = "b", .range_end = "c"});
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("refused @1: mvcc: watcher range is empty",
                                               "refused @1: mvcc: watcher range is empty", "created 0 @1"));
}

TEST_F(RulesTest, ADuplicateIdIsRefused) {
  client_->Create({.key = "a", .watch_id = 7});
  client_->Create({.key = "b", .watch_id = 7});
  engine_.Commit({PutOf("a", "1"), PutOf("b", "1")});
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("created 7 @1", "refused @1: mvcc: duplicate watch ID provided on the WatchStream",
                          "events 7 @2: put a=1 create=2 mod=2"));
}

TEST_F(RulesTest, TheFirstFaultIsNamed) {
  client_->Create({.key = "a", .watch_id = 7});
  client_->Create({.key = "b", .range_end = "a", .start_revision = -3, .watch_id = 7});
  client_->Create({.key = "b", .range_end = "a", .watch_id = 7});
  EXPECT_THAT(
      client_.TakeTexts(),
      ElementsAre("created 7 @1", "refused @1: etcdserver: mvcc: required revision has been compacted",
                  "refused @1: mvcc: watcher range is empty"));
}

TEST_F(RulesTest, ATransportsRefusalKeepsItsPlace) {
  client_->Create({.key = "a"});
  client_->RefuseCreate("rpc error: no");
  client_->Create({.key = "b"});
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @1", "refused @1: rpc error: no", "created 1 @1"));
}

TEST_F(RulesTest, IdsCountFromZeroSkipLiveOnesAndAreTheStreamsOwn) {
  client_->Create({.key = "k", .watch_id = 1});
  client_->Create({.key = "k"});
  client_->Create({.key = "k"});
  client_->Cancel(0);
  client_->Create({.key = "k"});
  Client other(publisher_.get());
  other->Create({.key = "k"});
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("created 1 @1", "created 0 @1", "created 2 @1", "canceled 0 @1", "created 3 @1"));
  EXPECT_THAT(other.TakeTexts(), ElementsAre("created 0 @1"));
}

// Ranges.

TEST_F(RulesTest, AnEmptyKeyIsAZeroByte) {
  client_->Create({.key = "", .watch_id = 1});
  client_->Create({.key = "", .range_end = "b", .watch_id = 2});
  client_->Create({.key = "", .range_end = kZeroByte, .watch_id = 3});
  client_.TakeAll();
  engine_.Put(std::string(kZeroByte), "z");
  EXPECT_THAT(client_.TakeTexts(),
              UnorderedElementsAre("events 1 @2: put " + std::string(kZeroByte) + "=z create=2 mod=2",
                                   "events 2 @2: put " + std::string(kZeroByte) + "=z create=2 mod=2",
                                   "events 3 @2: put " + std::string(kZeroByte) + "=z create=2 mod=2"));
  engine_.Put("a", "1");
  EXPECT_THAT(client_.TakeTexts(), UnorderedElementsAre("events 2 @3: put a=1 create=3 mod=3",
                                                        "events 3 @3: put a=1 create=3 mod=3"));
  engine_.Put("b", "1");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 3 @4: put b=1 create=4 mod=4"));
}

TEST_F(RulesTest, EveryWatcherOfAnEventGetsTheSameBlock) {
  Client other(publisher_.get());
  client_->Create({.key = "k"});
  client_->Create({.key = "a", .range_end = "z"});
  other->Create({.key = "k"});
  client_.TakeAll();
  other.TakeAll();
  engine_.Put("k", "1");
  const std::vector<Delivery> taken = client_.TakeAll();
  const std::vector<Delivery> others = other.TakeAll();
  ASSERT_EQ(taken.size(), 2U);
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(taken[0].events, taken[1].events);
  EXPECT_EQ(taken[0].events, others[0].events);
}

// Events.

TEST_F(RulesTest, ARevisionComesInOneDeliveryInOrder) {
  client_->Create({.key = "a", .range_end = "c", .watch_id = 1});
  client_->Create({.key = "a", .range_end = "z", .watch_id = 2});
  client_->Create({.key = "x", .watch_id = 3});
  client_.TakeAll();
  engine_.Commit({PutOf("b", "1"), PutOf("x", "2"), PutOf("a", "3")});
  EXPECT_THAT(client_.TakeTexts(),
              UnorderedElementsAre(
                  "events 1 @2: put b=1 create=2 mod=2, put a=3 create=2 mod=2",
                  "events 2 @2: put b=1 create=2 mod=2, put x=2 create=2 mod=2, put a=3 create=2 mod=2",
                  "events 3 @2: put x=2 create=2 mod=2"));
}

TEST_F(RulesTest, ABatchOfRevisionsComesInADeliveryForEach) {
  client_->Create({.key = "a", .range_end = "z"});
  client_.TakeAll();
  engine_.Append({PutOf("b", "1"), PutOf("c", "1")});
  engine_.Append({PutOf("zz", "1")});
  engine_.Append({PutOf("b", "2")});
  EXPECT_THAT(client_.TakeTexts(), IsEmpty());
  engine_.Publish();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 0 @2: put b=1 create=2 mod=2, put c=1 create=2 mod=2",
                                               "events 0 @4: put b=2 create=2 mod=4"));
}

TEST_F(RulesTest, FiltersDropAndNothingLeftIsNothingSent) {
  client_->Create({.key = "k", .watch_id = 1, .no_put = true});
  client_->Create({.key = "k", .watch_id = 2, .no_delete = true});
  client_->Create({.key = "k", .watch_id = 3, .no_put = true, .no_delete = true});
  client_.TakeAll();
  engine_.Put("k", "1");
  engine_.Delete("k");
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("events 2 @2: put k=1 create=2 mod=2", "events 1 @3: delete k mod=3"));
}

TEST_F(RulesTest, PrevKvIsWhatWasBefore) {
  client_->Create({.key = "k", .watch_id = 1, .prev_kv = true});
  client_->Create({.key = "k", .watch_id = 2});
  client_.TakeAll();
  engine_.Put("k", "1");
  engine_.Put("k", "2");
  engine_.Delete("k");
  engine_.Put("k", "3");
  std::vector<std::string> with_prev;
  for (const std::string& text : client_.TakeTexts()) {
    if (text.starts_with("events 1")) with_prev.push_back(text);
  }
  EXPECT_THAT(with_prev,
              ElementsAre("events 1 @2: put k=1 create=2 mod=2", "events 1 @3: put k=2 create=2 mod=3 prev=1",
                          "events 1 @4: delete k mod=4 prev=2", "events 1 @5: put k=3 create=5 mod=5"));
}

TEST_F(RulesTest, PrevKvIsLeftOutIfCompacted) {
  engine_.Put("k", "1");
  client_->Create({.key = "k", .prev_kv = true});
  client_.TakeAll();
  engine_.Append({PutOf("k", "2")});
  engine_.SetCompacted(3);
  engine_.Publish();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("events 0 @3: put k=2 create=2 mod=3"));
}

TEST_F(RulesTest, FragmentIsHandedBackWithEvents) {
  client_->Create({.key = "k", .fragment = true});
  client_->Create({.key = "k"});
  engine_.Put("k", "1");
  for (const Delivery& delivery : client_.TakeAll()) {
    EXPECT_EQ(delivery.fragment, delivery.kind == DeliveryKind::kEvents && delivery.watch_id == 0);
  }
}

// A commit that is visible and not yet published.

TEST_F(RulesTest, StartingBetweenVisibleAndPublished) {
  engine_.Append({PutOf("k", "1")});
  client_->Create({.key = "k", .watch_id = 1});
  client_->Create({.key = "k", .start_revision = 2, .watch_id = 2});
  client_->Create({.key = "k", .start_revision = 3, .watch_id = 3});
  engine_.Publish();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 1 @2", "created 2 @2", "created 3 @2",
                                               "events 2 @2: put k=1 create=2 mod=2"));
  engine_.Put("k", "2");
  EXPECT_THAT(client_.TakeTexts(), UnorderedElementsAre("events 1 @3: put k=2 create=2 mod=3",
                                                        "events 2 @3: put k=2 create=2 mod=3",
                                                        "events 3 @3: put k=2 create=2 mod=3"));
}

TEST_F(RulesTest, APublisherMadeBetweenVisibleAndPublished) {
  client_.Close();
  publisher_.reset();
  engine_.Append({PutOf("k", "1")});
  publisher_ = Publisher::Create(&engine_);
  Client client(publisher_.get());
  client->Create({.key = "k", .watch_id = 1});
  client->Create({.key = "k", .start_revision = 2, .watch_id = 2});
  EXPECT_THAT(client.AwaitTexts(3),
              ElementsAre("created 1 @2", "created 2 @2", "events 2 @2: put k=1 create=2 mod=2"));
  engine_.Publish();
  EXPECT_THAT(client.TakeTexts(), IsEmpty());
}

// Cancellation.

TEST_F(RulesTest, CanceledIsTheLastAndTheIdIsFree) {
  client_->Create({.key = "k", .watch_id = 4});
  engine_.Put("k", "1");
  client_->Cancel(4);
  engine_.Put("k", "2");
  client_->Create({.key = "k", .watch_id = 4});
  engine_.Put("k", "3");
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("created 4 @1", "events 4 @2: put k=1 create=2 mod=2", "canceled 4 @2",
                          "created 4 @3", "events 4 @4: put k=3 create=2 mod=4"));
}

TEST_F(RulesTest, CancelOfAnUnknownIdIsIgnored) {
  client_->Create({.key = "k"});
  client_->Cancel(1);
  client_->Cancel(0);
  client_->Cancel(0);
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @1", "canceled 0 @1"));
}

// Progress.

TEST_F(RulesTest, RequestedProgressComesBehindEvents) {
  client_->Create({.key = "k"});
  engine_.Put("k", "1");
  engine_.Put("other", "1");
  client_->RequestProgress();
  engine_.Put("k", "2");
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @1", "events 0 @2: put k=1 create=2 mod=2",
                                               "progress -1 @3", "events 0 @4: put k=2 create=2 mod=4"));
}

TEST_F(RulesTest, RequestedProgressIsOfWhatIsPublished) {
  client_->Create({.key = "k"});
  client_.TakeAll();
  engine_.Append({PutOf("k", "1")});
  client_->RequestProgress();
  engine_.Publish();
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(),
              ElementsAre("progress -1 @1", "events 0 @2: put k=1 create=2 mod=2", "progress -1 @2"));
}

TEST_F(RulesTest, ProgressIsDroppedWithoutWatchesOrBeforeAStart) {
  client_->RequestProgress();
  client_->Create({.key = "a"});
  client_->Create({.key = "b", .start_revision = 3});
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("created 0 @1", "created 1 @1"));
  engine_.Put("x", "2");
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), IsEmpty());
  engine_.Put("x", "3");
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("progress -1 @3"));
  client_->Cancel(0);
  client_->Cancel(1);
  client_->RequestProgress();
  EXPECT_THAT(client_.TakeTexts(), ElementsAre("canceled 0 @3", "canceled 1 @3"));
}

TEST_F(RulesTest, TicksTellOnlyTheQuietThatAskedForIt) {
  client_->Create({.key = "a", .watch_id = 1, .progress_notify = true});
  client_->Create({.key = "b", .watch_id = 2, .progress_notify = true});
  client_->Create({.key = "a", .watch_id = 3});
  client_->Create({.key = "a", .start_revision = 4, .watch_id = 4, .progress_notify = true});
  client_->Create({.key = "a", .watch_id = 5, .progress_notify = true, .no_put = true});
  engine_.Put("a", "1");
  client_.TakeAll();
  client_->Tick();
  EXPECT_THAT(client_.TakeTexts(), UnorderedElementsAre("progress 2 @2", "progress 5 @2"));
  client_->Tick();
  EXPECT_THAT(client_.TakeTexts(), UnorderedElementsAre("progress 1 @2", "progress 2 @2", "progress 5 @2"));
  engine_.Put("x", "1");
  engine_.Put("x", "2");
  client_->Tick();
  EXPECT_THAT(client_.TakeTexts(),
              UnorderedElementsAre("progress 1 @4", "progress 2 @4", "progress 4 @4", "progress 5 @4"));
}

// The sink.

TEST_F(RulesTest, TheSinkIsToldOnceUntilTheQueueIsEmpty) {
  EXPECT_EQ(client_.ready_calls(), 0);
  client_->Create({.key = "k"});
  engine_.Put("k", "1");
  engine_.Put("k", "2");
  EXPECT_EQ(client_.ready_calls(), 1);
  std::vector<Delivery> taken;
  EXPECT_TRUE(client_->Take(2, &taken));
  engine_.Put("k", "3");
  EXPECT_EQ(client_.ready_calls(), 1);
  EXPECT_FALSE(client_->Take(2, &taken));
  engine_.Put("k", "4");
  EXPECT_EQ(client_.ready_calls(), 2);
  EXPECT_FALSE(client_->Take(2, &taken));
  EXPECT_EQ(taken.size(), 5U);
}

// The end.

TEST_F(RulesTest, AStreamThatIsGoneIsToldNothing) {
  client_->Create({.key = "k"});
  client_->Create({.key = "a", .range_end = "z"});
  const int calls = client_.ready_calls();
  client_.Close();
  engine_.Put("k", "1");
  EXPECT_EQ(client_.ready_calls(), calls);
  const PublisherCounters counters = publisher_->Counters();
  EXPECT_EQ(counters.streams, 0);
  EXPECT_EQ(counters.watchers, 0);
}

TEST_F(RulesTest, CountersCount) {
  Client other(publisher_.get());
  client_->Create({.key = "k"});
  client_->Create({.key = "a", .range_end = "z"});
  other->Create({.key = "k", .start_revision = 9});
  engine_.Commit({PutOf("k", "1"), PutOf("b", "1")});
  const PublisherCounters counters = publisher_->Counters();
  EXPECT_EQ(counters.streams, 2);
  EXPECT_EQ(counters.watchers, 3);
  EXPECT_EQ(counters.slow_watchers, 0);
  EXPECT_EQ(counters.events, 3);
  client_->Cancel(0);
  EXPECT_EQ(publisher_->Counters().watchers, 2);
}

}  // namespace
}  // namespace kvist::watch
