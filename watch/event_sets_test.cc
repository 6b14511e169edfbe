#include "watch/event_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;

class EventSetsTest : public ::testing::Test, public kv::CommitListener {
 protected:
  EventSetsTest() { engine_.SetCommitListener(this); }

  void OnCommit(const kv::CommittedBatch& batch) override {
    owners_.push_back(batch.owner);
    records_.insert(records_.end(), batch.records.begin(), batch.records.end());
    sets_.Start(&records_);
  }

  EventSets::Set SetOf(const std::vector<std::uint32_t>& records) {
    EventSets::Set set = EventSets::kEmpty;
    for (const std::uint32_t record : records) set = sets_.Extend(set, record);
    return set;
  }
  std::vector<std::string> Texts(EventSets::Set set, bool prev_kv) {
    return EventTexts(*sets_.Block(set, prev_kv));
  }

  FakeEngine engine_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<kv::LogRecord> records_;
  EventSets sets_{&engine_};
};

TEST_F(EventSetsTest, EncodesEventsByteForByte) {
  engine_.Put("k", "v");
  engine_.Put("k", "w");
  engine_.Delete("k");
  const EventSets::Set all = SetOf({0, 1, 2});
  const std::string put_v("\x5a\x0e\x12\x0c\x0a\x01k\x10\x02\x18\x02\x20\x01\x2a\x01v", 16);
  const std::string put_w("\x5a\x0e\x12\x0c\x0a\x01k\x10\x02\x18\x03\x20\x02\x2a\x01w", 16);
  const std::string delete_k("\x5a\x09\x08\x01\x12\x05\x0a\x01k\x18\x04", 11);
  const std::shared_ptr<const EventBlock> plain = sets_.Block(all, false);
  EXPECT_EQ(plain->wire, put_v + put_w + delete_k);
  EXPECT_THAT(plain->sizes, ElementsAre(16, 16, 11));

  const std::string prev_v("\x1a\x0c\x0a\x01k\x10\x02\x18\x02\x20\x01\x2a\x01v", 14);
  const std::string prev_w("\x1a\x0c\x0a\x01k\x10\x02\x18\x03\x20\x02\x2a\x01w", 14);
  const std::shared_ptr<const EventBlock> with_prev = sets_.Block(all, true);
  EXPECT_EQ(with_prev->wire,
            put_v + "\x5a\x1c" + put_w.substr(2) + prev_v + "\x5a\x17" + delete_k.substr(2) + prev_w);
  EXPECT_THAT(with_prev->sizes, ElementsAre(16, 30, 25));
}

TEST_F(EventSetsTest, LengthsOfSeveralBytesAreRight) {
  engine_.Put("k", std::string(300, 'x'));
  engine_.Put("k", std::string(20000, 'y'));
  EXPECT_THAT(Texts(SetOf({0, 1}), true), ElementsAre("put k=" + std::string(300, 'x') + " create=2 mod=2",
                                                      "put k=" + std::string(20000, 'y') +
                                                          " create=2 mod=3 prev=" + std::string(300, 'x')));
}

TEST_F(EventSetsTest, EqualSetsShareOneNumberAndOneBlock) {
  engine_.Commit({PutOf("a", "1"), PutOf("b", "2"), PutOf("c", "3")});
  EventSets::Set x = EventSets::kEmpty;
  EventSets::Set y = EventSets::kEmpty;
  EventSets::Set z = EventSets::kEmpty;
  x = sets_.Extend(x, 0);
  y = sets_.Extend(y, 0);
  z = sets_.Extend(z, 1);
  x = sets_.Extend(x, 2);
  z = sets_.Extend(z, 2);
  y = sets_.Extend(y, 2);
  EXPECT_EQ(x, y);
  EXPECT_NE(x, z);
  EXPECT_EQ(sets_.count(), 4U);  // {0} {1} {0,2} {1,2}
  EXPECT_EQ(sets_.Block(x, false), sets_.Block(y, false));
  EXPECT_THAT(Texts(x, false), ElementsAre("put a=1 create=2 mod=2", "put c=3 create=2 mod=2"));
  EXPECT_THAT(Texts(z, false), ElementsAre("put b=2 create=2 mod=2", "put c=3 create=2 mod=2"));
}

TEST_F(EventSetsTest, CountsTheBytesOfTheSetsWatchersAreAt) {
  engine_.Commit({PutOf("a", "1"), PutOf("b", "2")});
  const EventSets::Set x = sets_.Extend(EventSets::kEmpty, 0);
  const std::size_t one = sets_.bytes();
  EXPECT_EQ(one, sets_.Block(x, false)->wire.size());
  EXPECT_EQ(sets_.Extend(EventSets::kEmpty, 0), x);
  EXPECT_EQ(sets_.bytes(), one);  // two watchers at one set
  EXPECT_NE(sets_.Extend(x, 1), x);
  EXPECT_EQ(sets_.bytes(), 3 * one);  // one at {0}, one at {0, 1}
  EXPECT_NE(sets_.Extend(x, 1), x);
  EXPECT_EQ(sets_.bytes(), 2 * one);  // both at {0, 1}
}

TEST_F(EventSetsTest, CreationsHaveNoPreviousValue) {
  engine_.Put("k", "v");
  engine_.Delete("k");
  engine_.Put("k", "w");
  EXPECT_THAT(Texts(SetOf({0, 2}), true), ElementsAre("put k=v create=2 mod=2", "put k=w create=4 mod=4"));
  EXPECT_EQ(sets_.Block(SetOf({0, 2}), true), sets_.Block(SetOf({0, 2}), false));
}

TEST_F(EventSetsTest, ACompactedPreviousValueIsLeftOut) {
  engine_.Put("k", "1");  // 2
  engine_.Put("k", "2");  // 3
  engine_.Put("k", "3");  // 4
  engine_.SetCompacted(3);
  EXPECT_THAT(Texts(SetOf({1, 2}), true),
              ElementsAre("put k=2 create=2 mod=3", "put k=3 create=2 mod=4 prev=2"));
}

TEST_F(EventSetsTest, AnUnreadablePreviousValueGivesNoBlockUntilItCanBeRead) {
  engine_.Put("k", "1");
  engine_.Put("k", "2");
  const EventSets::Set set = SetOf({1});
  engine_.FailReads(absl::UnavailableError("storage"));
  EXPECT_EQ(sets_.Block(set, true), nullptr);
  EXPECT_THAT(Texts(set, false), ElementsAre("put k=2 create=2 mod=3"));
  engine_.FailReads(absl::OkStatus());
  EXPECT_THAT(Texts(set, true), ElementsAre("put k=2 create=2 mod=3 prev=1"));
}

}  // namespace
}  // namespace kvist::watch
