#include "watch/delivery_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "watch/publisher.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;

class CountingSink final : public StreamSink {
 public:
  void OnReady() override { ++calls; }
  int calls = 0;
};

class DeliveryQueueTest : public ::testing::Test {
 protected:
  static Delivery Numbered(WatchId id) {
    Delivery delivery;
    delivery.kind = DeliveryKind::kProgress;
    delivery.watch_id = id;
    return delivery;
  }
  static Delivery Holding(std::shared_ptr<const EventBlock> block) {
    Delivery delivery;
    delivery.events = std::move(block);
    return delivery;
  }
  static std::shared_ptr<const EventBlock> BlockOf(std::size_t bytes) {
    auto block = std::make_shared<EventBlock>();
    block->wire.assign(bytes, 'w');
    return block;
  }

  std::vector<WatchId> TakeIds(std::size_t max, bool* more) {
    std::vector<Delivery> taken;
    *more = queue_.Take(max, &taken).more;
    std::vector<WatchId> ids;
    for (const Delivery& delivery : taken) ids.push_back(delivery.watch_id);
    return ids;
  }

  CountingSink sink_;
  DeliveryQueue queue_{&sink_};
  ReadyList ready_;
  bool more_ = false;
};

TEST_F(DeliveryQueueTest, OnlyThePushThatEndsAnEmptinessNamesTheQueue) {
  queue_.Push(Numbered(1), &ready_);
  EXPECT_THAT(ready_, ElementsAre(&queue_));
  queue_.Push(Numbered(2), &ready_);
  EXPECT_TRUE(queue_.PushIfRoom(Numbered(3), &ready_));
  EXPECT_EQ(ready_.size(), 1U);
  EXPECT_THAT(TakeIds(2, &more_), ElementsAre(1, 2));
  EXPECT_TRUE(more_);
  queue_.Push(Numbered(4), &ready_);
  EXPECT_EQ(ready_.size(), 1U);
  EXPECT_THAT(TakeIds(2, &more_), ElementsAre(3, 4));
  EXPECT_FALSE(more_);
  queue_.Push(Numbered(5), &ready_);
  EXPECT_EQ(ready_.size(), 2U);

  EXPECT_EQ(sink_.calls, 0);
  for (DeliveryQueue* queue : ready_) queue->Notify();
  EXPECT_EQ(sink_.calls, 2);
  queue_.AwaitNotified();  // returns
}

TEST_F(DeliveryQueueTest, KeepsTheOrderHoweverItIsTaken) {
  WatchId pushed = 0;
  WatchId expected = 0;
  for (std::size_t max = 1; max < 40; ++max) {
    for (int i = 0; i < 25; ++i) queue_.Push(Numbered(pushed++), &ready_);
    for (const WatchId id : TakeIds(max, &more_)) ASSERT_EQ(id, expected++);
    ASSERT_EQ(more_, expected < pushed);
  }
  for (const WatchId id : TakeIds(1000, &more_)) ASSERT_EQ(id, expected++);
  EXPECT_FALSE(more_);
  EXPECT_EQ(expected, pushed);
}

TEST_F(DeliveryQueueTest, AppendsToWhatTheCallerAlreadyHas) {
  std::vector<Delivery> taken;
  taken.push_back(Numbered(7));
  queue_.Push(Numbered(8), &ready_);
  EXPECT_FALSE(queue_.Take(5, &taken).more);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].watch_id, 7);
  EXPECT_EQ(taken[1].watch_id, 8);
}

TEST_F(DeliveryQueueTest, IsFullAtItsNumberOfDeliveriesAndReportsRoomAtHalf) {
  for (std::size_t i = 0; i < kQueueDeliveriesMax; ++i) {
    ASSERT_FALSE(queue_.Full());
    ASSERT_TRUE(queue_.PushIfRoom(Numbered(0), &ready_));
  }
  EXPECT_TRUE(queue_.Full());
  EXPECT_FALSE(queue_.PushIfRoom(Numbered(0), &ready_));
  queue_.Push(Numbered(1), &ready_);  // not bound

  std::vector<Delivery> taken;
  EXPECT_FALSE(queue_.Take(kQueueDeliveriesMax / 2, &taken).made_room);
  EXPECT_FALSE(queue_.Full());
  EXPECT_TRUE(queue_.Take(1, &taken).made_room);
  EXPECT_FALSE(queue_.Take(1, &taken).made_room);  // said once
}

TEST_F(DeliveryQueueTest, ReportsRoomOnlyToThoseTurnedAway) {
  for (std::size_t i = 0; i < kQueueDeliveriesMax; ++i) queue_.Push(Numbered(0), &ready_);
  std::vector<Delivery> taken;
  EXPECT_FALSE(queue_.Take(kQueueDeliveriesMax, &taken).made_room);

  for (std::size_t i = 0; i < kQueueDeliveriesMax; ++i) queue_.Push(Numbered(0), &ready_);
  EXPECT_FALSE(queue_.HasRoom());
  taken.clear();
  EXPECT_TRUE(queue_.Take(kQueueDeliveriesMax, &taken).made_room);
  EXPECT_TRUE(queue_.HasRoom());
}

TEST_F(DeliveryQueueTest, IsFullAtItsBytes) {
  ASSERT_TRUE(queue_.PushIfRoom(Holding(BlockOf(kQueueBytesMax - 1)), &ready_));
  EXPECT_FALSE(queue_.Full());
  ASSERT_TRUE(queue_.PushIfRoom(Holding(BlockOf(1)), &ready_));
  EXPECT_TRUE(queue_.Full());
  EXPECT_FALSE(queue_.PushIfRoom(Holding(BlockOf(0)), &ready_));

  std::vector<Delivery> taken;
  taken.emplace_back();
  EXPECT_TRUE(queue_.Take(1, &taken).made_room);
  EXPECT_FALSE(queue_.Full());
  EXPECT_FALSE(queue_.Take(1, &taken).more);
  ASSERT_TRUE(queue_.PushIfRoom(Holding(BlockOf(kQueueBytesMax - 1)), &ready_));
  EXPECT_FALSE(queue_.Full());
}

TEST_F(DeliveryQueueTest, ABlockCountsOnceForDeliveriesThatFollowEachOther) {
  const auto big = BlockOf(kQueueBytesMax / 2);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue_.PushIfRoom(Holding(big), &ready_));
  EXPECT_FALSE(queue_.Full());
  ASSERT_TRUE(queue_.PushIfRoom(Numbered(1), &ready_));
  ASSERT_TRUE(queue_.PushIfRoom(Holding(big), &ready_));
  EXPECT_TRUE(queue_.Full());

  std::vector<Delivery> taken;
  taken.emplace_back();
  EXPECT_TRUE(queue_.Take(4, &taken).more);
  EXPECT_TRUE(queue_.Full());
  EXPECT_TRUE(queue_.Take(1, &taken).more);
  EXPECT_FALSE(queue_.Full());
}

}  // namespace
}  // namespace kvist::watch
