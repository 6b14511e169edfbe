#include "watch/delivery_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
    const NewEventBlock made = MakeEventBlock(bytes);
    std::fill_n(made.wire, bytes, 'w');
    return made.block;
  }
  void PushNumbered(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) queue_.Push(Numbered(0));
  }

  std::vector<WatchId> TakeIds(std::size_t max) {
    std::vector<Delivery> taken;
    queue_.Take(max, &taken);
    std::vector<WatchId> ids;
    for (const Delivery& delivery : taken) ids.push_back(delivery.watch_id);
    return ids;
  }
  // As TakeIds, but not all at once into an empty vector, which is a way of its own.
  void TakeOneByOne(std::size_t count) {
    std::vector<Delivery> taken(1);
    for (std::size_t i = 0; i < count; ++i) queue_.Take(1, &taken);
    ASSERT_EQ(taken.size(), count + 1);
  }

  DeliveryQueue queue_;
};

TEST_F(DeliveryQueueTest, KeepsTheOrderHoweverItIsTaken) {
  WatchId pushed = 0;
  WatchId expected = 0;
  for (std::size_t max = 1; max < 40; ++max) {
    for (int i = 0; i < 25; ++i) queue_.Push(Numbered(pushed++));
    for (const WatchId id : TakeIds(max)) ASSERT_EQ(id, expected++);
    ASSERT_EQ(queue_.empty(), expected == pushed);
  }
  for (const WatchId id : TakeIds(1000)) ASSERT_EQ(id, expected++);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(expected, pushed);
  EXPECT_THAT(TakeIds(1), IsEmpty());
}

TEST_F(DeliveryQueueTest, AppendsToWhatTheCallerAlreadyHas) {
  std::vector<Delivery> taken;
  taken.push_back(Numbered(7));
  queue_.Push(Numbered(8));
  queue_.Take(5, &taken);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].watch_id, 7);
  EXPECT_EQ(taken[1].watch_id, 8);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(DeliveryQueueTest, IsFullAtItsNumberOfDeliveriesAndHasRoomAgainAtHalf) {
  PushNumbered(kQueueDeliveriesMax - 1);
  EXPECT_FALSE(queue_.Full());
  PushNumbered(1);
  EXPECT_TRUE(queue_.Full());
  PushNumbered(1);  // not bound
  TakeOneByOne(kQueueDeliveriesMax / 2);
  EXPECT_FALSE(queue_.Full());
  EXPECT_FALSE(queue_.HasRoomAgain());
  TakeOneByOne(1);
  EXPECT_TRUE(queue_.HasRoomAgain());
}

TEST_F(DeliveryQueueTest, IsFullAtItsBytesAndHasRoomAgainAtHalf) {
  queue_.Push(Holding(BlockOf(kQueueBytesMax / 2)));
  EXPECT_TRUE(queue_.HasRoomAgain());
  queue_.Push(Holding(BlockOf(kQueueBytesMax / 2 - 1)));
  EXPECT_FALSE(queue_.Full());
  EXPECT_FALSE(queue_.HasRoomAgain());
  queue_.Push(Holding(BlockOf(1)));
  EXPECT_TRUE(queue_.Full());
  TakeOneByOne(1);
  EXPECT_FALSE(queue_.Full());
  EXPECT_TRUE(queue_.HasRoomAgain());

  EXPECT_EQ(TakeIds(100).size(), 2U);
  queue_.Push(Holding(BlockOf(kQueueBytesMax / 2)));
  EXPECT_TRUE(queue_.HasRoomAgain());
}

TEST_F(DeliveryQueueTest, ABlockCountsOnceForDeliveriesThatFollowEachOther) {
  const auto half = BlockOf(kQueueBytesMax / 2);
  for (int i = 0; i < 5; ++i) queue_.Push(Holding(half));
  EXPECT_FALSE(queue_.Full());
  queue_.Push(Numbered(1));
  queue_.Push(Holding(half));
  EXPECT_TRUE(queue_.Full());
  TakeOneByOne(4);
  EXPECT_TRUE(queue_.Full());
  TakeOneByOne(1);
  EXPECT_FALSE(queue_.Full());
  EXPECT_THAT(TakeIds(5), ElementsAre(1, kNoWatch));
}

}  // namespace
}  // namespace kvist::watch
