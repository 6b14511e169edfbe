// The publisher on the real store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kv/test_support.h"
#include "watch/publisher.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;

class WatchStoreTest : public kv::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    publisher_ = Publisher::Create(&store());
  }
  void TearDown() override { publisher_.reset(); }

  std::unique_ptr<Publisher> publisher_;
};

TEST_F(WatchStoreTest, LiveHistoryAndPreviousValues) {
  Put("k", "1");
  Client client(publisher_.get());
  client->Create({.key = "k", .prev_kv = true});
  Put("k", "2");
  Delete("a", "z");
  EXPECT_THAT(client.TakeTexts(), ElementsAre("created 0 @2", "events 0 @3: put k=2 create=2 mod=3 prev=1",
                                              "events 0 @4: delete k mod=4 prev=2"));
  client->Create({.key = "a", .range_end = "z", .start_revision = 1, .prev_kv = true});
  EXPECT_THAT(client.AwaitTexts(2), ElementsAre("created 1 @4",
                                                "events 1 @4: put k=1 create=2 mod=2, "
                                                "put k=2 create=2 mod=3 prev=1, "
                                                "delete k mod=4 prev=2"));
}

TEST_F(WatchStoreTest, ATxnIsOneDelivery) {
  Client client(publisher_.get());
  client->Create({.key = "a", .range_end = "z"});
  kv::TxnRequest txn;
  txn.success = {{kv::PutRequest{.key = "b", .value = "1"}}, {kv::PutRequest{.key = "a", .value = "2"}}};
  ASSERT_TRUE(store().Txn(txn).ok());
  EXPECT_THAT(client.TakeTexts(),
              ElementsAre("created 0 @1", "events 0 @2: put b=1 create=2 mod=2, put a=2 create=2 mod=2"));
}

TEST_F(WatchStoreTest, TheCompactedRevisionItselfCanBeWatched) {
  Put("k", "1");              // 2
  Put("k", "2");              // 3
  ASSERT_EQ(Delete("k"), 4);  // 4
  Put("k", "3");              // 5
  ASSERT_TRUE(Compact(4).ok());
  Client client(publisher_.get());
  client->Create({.key = "k", .start_revision = 3});
  EXPECT_THAT(client.TakeTexts(), ElementsAre("created 0 @5", "compacted 0 at 4"));
  client->Create({.key = "k", .start_revision = 4, .prev_kv = true});
  EXPECT_THAT(client.AwaitTexts(2),
              ElementsAre("created 1 @5", "events 1 @5: delete k mod=4, put k=3 create=5 mod=5"));
}

// While others write, watches of the whole history start at any time, and each sees all of it.
TEST_F(WatchStoreTest, HistoryJoinsWhatIsLive) {
  constexpr kv::Revision kLast = 3001;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([this, writer] {
      for (int i = 0; i < (kLast - 1) / 2; ++i) Put(absl::StrCat("k", writer, i % 10), absl::StrCat(i));
    });
  }
  for (int watch = 0; watch < 10; ++watch) {
    Client client(publisher_.get());
    client->Create({.key = "k", .range_end = "l", .start_revision = 2});
    kv::Revision next = 2;
    while (next <= kLast) {
      for (const Delivery& delivery : client.Await(1)) {
        if (delivery.kind != DeliveryKind::kEvents) continue;
        for (const std::string& text : EventTexts(*delivery.events)) {
          ASSERT_EQ(std::stoll(text.substr(text.find("mod=") + 4)), next++);
        }
      }
    }
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(store().CurrentRevision(), kLast);
}

}  // namespace
}  // namespace kvist::watch
