// Writers, readers, and streams that come and go, all at once: for the thread sanitizer, and for what must
// hold however they interleave.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "watch/publisher.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

constexpr int kCommits = 6000;
constexpr int kKeys = 4;

// Revision r is a put of key "k<r % kKeys>", so that each reader knows what must come.
std::string KeyOf(kv::Revision revision) { return absl::StrCat("k", revision % kKeys); }

kv::Revision RevisionOf(const std::string& event_text) {
  return std::stoll(event_text.substr(event_text.find("mod=") + 4));
}

class StressTest : public ::testing::Test {
 protected:
  void Write() {
    for (kv::Revision revision = 2; revision <= kCommits + 1; ++revision) {
      engine_.Put(KeyOf(revision), "v");
      if (revision % 500 == 0) engine_.SetCompacted(revision / 2);
    }
    done_ = true;
  }

  // A watch of all keys from `start` on.
  std::unique_ptr<Client> ClientFrom(kv::Revision start) {
    auto client = std::make_unique<Client>(publisher_.get());
    (*client)->Create({.key = "k", .range_end = "l", .start_revision = start, .prev_kv = true});
    return client;
  }

  // Reads such a watch up to the last commit, `nap` long between two takes.
  static void ReadAll(Client* client, kv::Revision start, std::chrono::microseconds nap, std::size_t max) {
    kv::Revision next = start;
    std::vector<Delivery> taken;
    while (next <= kCommits + 1) {
      taken.clear();
      const bool more = (*client)->Take(max, &taken);
      for (const Delivery& delivery : taken) {
        if (delivery.kind == DeliveryKind::kCreated) continue;
        ASSERT_EQ(delivery.kind, DeliveryKind::kEvents);
        for (const std::string& text : EventTexts(*delivery.events)) ASSERT_EQ(RevisionOf(text), next++);
      }
      if (nap.count() > 0) {
        std::this_thread::sleep_for(nap);
      } else if (!more && next <= kCommits + 1) {
        ASSERT_TRUE(client->AwaitReady());
      }
    }
  }

  // Streams that are made, used and dropped while events are on their way to them.
  void ComeAndGo(unsigned variant) {
    for (int round = 0; !done_; ++round) {
      Client client(publisher_.get());
      const kv::Revision current = engine_.CurrentRevision();
      client->Create({.key = absl::StrCat("k", variant % kKeys),
                      .start_revision = std::max<kv::Revision>(1, current - 20)});
      client->Create({.key = "k", .range_end = "l"});
      client->Create({.key = "k1", .watch_id = 9, .progress_notify = true});
      client->RequestProgress();
      client->Tick();
      if (round % 2 == 0) client->Cancel(1);
      if (round % 3 != 0) client.TakeAll();
      if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      client->Cancel(0);
    }
  }

  FakeEngine engine_;
  std::unique_ptr<Publisher> publisher_ = Publisher::Create(&engine_);
  std::atomic<bool> done_ = false;
};

// Not even the slow one is overtaken by a compaction: its queue holds what those get to.
TEST_F(StressTest, ReadersOfAllSpeedsSeeEveryRevisionOnce) {
  static_assert(kQueueDeliveriesMax > kCommits / 2);
  const std::unique_ptr<Client> quick = ClientFrom(2);
  const std::unique_ptr<Client> one_by_one = ClientFrom(100);
  const std::unique_ptr<Client> slow = ClientFrom(2);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { ReadAll(quick.get(), 2, std::chrono::microseconds(0), 64); });
  threads.emplace_back([&] { ReadAll(one_by_one.get(), 100, std::chrono::microseconds(0), 1); });
  threads.emplace_back([&] { ReadAll(slow.get(), 2, std::chrono::microseconds(1000), 8); });
  threads.emplace_back([this] { ComeAndGo(0); });
  threads.emplace_back([this] { ComeAndGo(1); });
  threads.emplace_back([this] { Write(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(publisher_->Counters().streams, 3);
  EXPECT_EQ(publisher_->Counters().watchers, 3);
  EXPECT_TRUE(Eventually([this] { return publisher_->Counters().slow_watchers == 0; }));
}

// A sink that takes while it is told, and counts calls after the end of its stream.
class TakingSink final : public StreamSink {
 public:
  void OnReady() override {
    EXPECT_FALSE(ended);
    std::vector<Delivery> taken;
    while (stream != nullptr && stream.load()->Take(16, &taken)) continue;
  }
  std::atomic<WatchStream*> stream = nullptr;
  std::atomic<bool> ended = false;
};

TEST_F(StressTest, NoSinkIsToldAfterItsStreamHasEnded) {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Write(); });
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this] {
      while (!done_) {
        TakingSink sink;
        std::unique_ptr<WatchStream> stream = publisher_->NewStream(&sink);
        sink.stream = stream.get();
        stream->Create({.key = "k", .range_end = "l"});
        std::this_thread::yield();
        stream.reset();
        sink.ended = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(publisher_->Counters().streams, 0);
}

}  // namespace
}  // namespace kvist::watch
