// Random commits, watches, readers, compactions and failures; what each watch receives is what a simple
// model says it must.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "watch/publisher.h"
#include "watch/test_support.h"

namespace kvist::watch {
namespace {

// What was committed, in the words of EventTexts.
struct ModelEvent {
  kv::Revision revision = 0;
  std::string key;
  bool is_delete = false;
  std::string text;
  std::string prev;  // " prev=..." or nothing
};

// One watch and what came for it.
struct ModelWatch {
  WatchId id = 0;
  std::string key;
  std::string range_end;
  kv::Revision first = 0;  // the first revision of interest
  bool prev_kv = false;
  bool no_put = false;
  bool no_delete = false;

  bool ended = false;
  kv::Revision compacted = 0;
  kv::Revision last = 0;  // the newest revision received
  std::vector<std::string> received;

  [[nodiscard]] bool Wants(const ModelEvent& event) const {
    const bool in_range =
        range_end.empty() ? event.key == key
                          : event.key >= key && (range_end == std::string(1, '\0') || event.key < range_end);
    return in_range && event.revision >= first && !(event.is_delete ? no_delete : no_put);
  }
};

struct ModelStream {
  explicit ModelStream(Publisher* publisher) : client(publisher) {}
  Client client;
  bool slow = false;
  std::map<WatchId, std::shared_ptr<ModelWatch>> live;
  std::map<WatchId, std::shared_ptr<ModelWatch>> compacted;  // and not yet canceled
  std::vector<std::shared_ptr<ModelWatch>> awaiting_created;
};

class ModelTest : public ::testing::TestWithParam<int> {
 protected:
  static unsigned Seed() {
    const char* const given = std::getenv("KVIST_TEST_SEED");
    return given != nullptr ? static_cast<unsigned>(std::atoll(given)) : std::random_device{}();
  }

  unsigned Random(unsigned bound) { return static_cast<unsigned>(random_()) % bound; }
  bool OneIn(unsigned n) { return Random(n) == 0; }
  std::string RandomKey() { return std::string(1, static_cast<char>('a' + Random(6))); }

  // Commits.

  std::vector<Change> RandomChanges() {
    std::map<std::string, Change> changes;  // a key once
    for (unsigned left = 1 + Random(OneIn(4) ? 4 : 1); left > 0; --left) {
      const std::string key = RandomKey();
      const bool is_delete = values_.contains(key) && OneIn(4);
      const std::string value = absl::StrCat(++value_);
      changes[key] = is_delete ? DeleteOf(key) : PutOf(key, value);
    }
    std::vector<Change> result;
    for (auto& [key, change] : changes) result.push_back(std::move(change));
    std::shuffle(result.begin(), result.end(), random_);
    return result;
  }

  void Append() {
    const std::vector<Change> changes = RandomChanges();
    engine_.Append(changes);
    const kv::Revision revision = engine_.CurrentRevision();
    for (const Change& change : changes) {
      const auto old = values_.find(change.key);
      ModelEvent event{revision, change.key, change.is_delete, {}, {}};
      if (old != values_.end()) event.prev = absl::StrCat(" prev=", old->second.second);
      const kv::Revision created = old != values_.end() ? old->second.first : revision;
      event.text = change.is_delete ? absl::StrCat("delete ", change.key, " mod=", revision)
                                    : absl::StrCat("put ", change.key, "=", change.value, " create=", created,
                                                   " mod=", revision);
      events_.push_back(std::move(event));
      if (change.is_delete) {
        values_.erase(change.key);
      } else {
        values_[change.key] = {created, change.value};
      }
    }
  }

  void CommitBatch() {
    for (unsigned left = 1 + Random(3); left > 0; --left) Append();
    if (OneIn(4)) Create(RandomStream());  // between visible and published
    engine_.Publish();
  }

  // Streams.

  ModelStream* RandomStream() { return streams_[Random(static_cast<unsigned>(streams_.size()))].get(); }

  void Create(ModelStream* stream) {
    auto watch = std::make_shared<ModelWatch>();
    watch->key = RandomKey();
    if (OneIn(2)) watch->range_end = OneIn(3) ? std::string(1, '\0') : watch->key + "z";
    if (watch->range_end.size() == 2 && OneIn(2)) watch->range_end = "g";
    watch->prev_kv = OneIn(3);
    watch->no_put = OneIn(6);
    watch->no_delete = OneIn(6);
    const kv::Revision current = engine_.CurrentRevision();
    WatchRequest request;
    request.key = watch->key;
    request.range_end = watch->range_end;
    if (!OneIn(3)) request.start_revision = 1 + Random(static_cast<unsigned>(current + 5));
    request.prev_kv = watch->prev_kv;
    request.no_put = watch->no_put;
    request.no_delete = watch->no_delete;
    watch->first = request.start_revision == 0 ? current + 1 : request.start_revision;
    stream->awaiting_created.push_back(watch);
    stream->client->Create(request);
  }

  void CancelOne(ModelStream* stream) {
    const auto& watches = OneIn(2) ? stream->live : stream->compacted;
    if (!watches.empty()) stream->client->Cancel(watches.begin()->first);
  }

  void TakeSome(ModelStream* stream, std::size_t max) {
    std::vector<Delivery> taken;
    stream->client->Take(max, &taken);
    for (const Delivery& delivery : taken) Note(stream, delivery);
  }

  void Note(ModelStream* stream, const Delivery& delivery) {
    if (delivery.kind == DeliveryKind::kCreated) {
      ASSERT_FALSE(stream->awaiting_created.empty());
      const std::shared_ptr<ModelWatch> watch = stream->awaiting_created.front();
      stream->awaiting_created.erase(stream->awaiting_created.begin());
      watch->id = delivery.watch_id;
      ASSERT_TRUE(stream->live.emplace(watch->id, watch).second);
      watches_.push_back(watch);
      return;
    }
    if (delivery.kind == DeliveryKind::kProgress) {
      EXPECT_TRUE(stream->compacted.empty());
      if (!OneIn(20)) return;  // a walk over all events
      for (const auto& [id, watch] : stream->live) ExpectUpTo(*watch, delivery.revision);
      return;
    }
    if (delivery.kind == DeliveryKind::kCanceled && stream->compacted.erase(delivery.watch_id) == 1) return;
    ASSERT_TRUE(stream->live.contains(delivery.watch_id)) << Text(delivery);
    const std::shared_ptr<ModelWatch> watch = stream->live.at(delivery.watch_id);
    if (delivery.kind == DeliveryKind::kEvents) return NoteEvents(watch.get(), delivery);
    watch->ended = true;
    stream->live.erase(delivery.watch_id);
    if (delivery.kind == DeliveryKind::kCompacted) {
      watch->compacted = delivery.extras->compact_revision;
      stream->compacted[delivery.watch_id] = watch;
    }
  }

  static void NoteEvents(ModelWatch* watch, const Delivery& delivery) {
    kv::Revision first = 0;
    kv::Revision last = 0;
    for (const std::string& text : EventTexts(*delivery.events)) {
      last = std::stoll(text.substr(text.find("mod=") + 4));
      if (first == 0) first = last;
      watch->received.push_back(text);
    }
    EXPECT_GT(first, watch->last) << "a revision came in two deliveries";
    EXPECT_GE(delivery.revision, last);
    watch->last = last;
  }

  // The model.

  // Everything the watch wants up to `revision` has come, and nothing else.
  void ExpectUpTo(const ModelWatch& watch, kv::Revision revision) {
    std::size_t next = 0;
    for (const ModelEvent& event : events_) {
      if (event.revision > revision || !watch.Wants(event)) continue;
      ASSERT_LT(next, watch.received.size()) << "missing: " << event.text << ", watch " << Describe(watch);
      const std::string& received = watch.received[next++];
      // The previous value may have been compacted away.
      const bool bare = received == event.text && event.revision - 1 < compacted_;
      const std::string full = watch.prev_kv ? event.text + event.prev : event.text;
      ASSERT_TRUE(received == full || (watch.prev_kv && bare))
          << "received: " << received << "\nexpected: " << full << "\nwatch " << Describe(watch);
    }
    ASSERT_EQ(next, watch.received.size()) << "too much: " << watch.received[next];
  }

  static std::string Describe(const ModelWatch& watch) {
    return absl::StrCat("id ", watch.id, " key ", watch.key, " end ", watch.range_end, " from ", watch.first);
  }

  // One that is canceled has all up to the last it received; one that is overtaken was so by a compaction.
  void ExpectEnded(const ModelWatch& watch) {
    ExpectUpTo(watch, watch.last);
    if (watch.compacted != 0) {
      EXPECT_LT(watch.last, watch.compacted);
    }
    EXPECT_LE(watch.compacted, compacted_);
  }

  void Compact() {
    compacted_ = std::max<kv::Revision>(compacted_, Random(static_cast<unsigned>(engine_.CurrentRevision())));
    engine_.SetCompacted(compacted_);
  }

  void Step() {
    ModelStream* const stream = RandomStream();
    switch (Random(12)) {
      case 0:
        return Create(stream);
      case 1:
        if (OneIn(3)) CancelOne(stream);
        return;
      case 2:
        return stream->client->RequestProgress();
      case 3:
        if (OneIn(40)) Compact();
        return;
      case 4:
        stream->slow = OneIn(2);
        return;
      case 5:
        if (OneIn(100)) engine_.FailReads(absl::UnavailableError("storage"));
        return;
      case 6:
        return engine_.FailReads(absl::OkStatus());
      case 7:
      case 8:
        if (!stream->slow) TakeSome(stream, OneIn(2) ? 1000 : 1 + Random(20));
        return;
      default:
        return CommitBatch();
    }
  }

  void DrainAll() {
    engine_.FailReads(absl::OkStatus());
    ASSERT_TRUE(Eventually([&] {
      for (const auto& stream : streams_) TakeSome(stream.get(), 1000000);
      return publisher_->Counters().slow_watchers == 0;
    }));
    for (const auto& stream : streams_) TakeSome(stream.get(), 1000000);
  }

  FakeEngine engine_;
  std::unique_ptr<Publisher> publisher_ = Publisher::Create(&engine_);
  std::vector<std::unique_ptr<ModelStream>> streams_;
  std::mt19937 random_;

  std::vector<ModelEvent> events_;
  std::map<std::string, std::pair<kv::Revision, std::string>> values_;  // create revision, value
  std::vector<std::shared_ptr<ModelWatch>> watches_;
  kv::Revision compacted_ = 0;
  int value_ = 0;
};

TEST_P(ModelTest, EveryWatchReceivesWhatTheModelSays) {
  const unsigned seed = Seed();
  SCOPED_TRACE(absl::StrCat("to repeat: KVIST_TEST_SEED=", seed));
  random_.seed(seed);
  for (int i = 0; i < 4; ++i) streams_.push_back(std::make_unique<ModelStream>(publisher_.get()));
  std::int64_t most_slow = 0;
  for (int step = 0; step < 4000 && !HasFatalFailure(); ++step) {
    Step();
    most_slow = std::max(most_slow, publisher_->Counters().slow_watchers);
  }
  DrainAll();
  std::size_t complete = 0;
  for (const auto& stream : streams_) {
    EXPECT_TRUE(stream->awaiting_created.empty());
    for (const auto& [id, watch] : stream->live) ExpectUpTo(*watch, engine_.CurrentRevision());
    complete += stream->live.size();
  }
  EXPECT_GT(complete, 0U);
  EXPECT_GT(most_slow, 0);
  for (const auto& watch : watches_) {
    if (watch->ended) ExpectEnded(*watch);
  }
  EXPECT_EQ(publisher_->Counters().watchers, static_cast<std::int64_t>(complete));
}

INSTANTIATE_TEST_SUITE_P(Runs, ModelTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace kvist::watch
