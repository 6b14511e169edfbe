// The tree against a std::map that says the same more slowly.

#include "kv/counted_tree.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace kvist::kv {
namespace {

KeyState State(bool alive) {
  KeyState state;
  state.newest = {2, 0, !alive};
  return state;
}

class TreeWithModel {
 public:
  void Insert(const std::string& key, bool alive) {
    auto [it, inserted] = model_.try_emplace(key, KeyEntry::New(key, State(alive)), alive);
    if (inserted) tree_.Insert(it->second.first.get(), alive);
  }
  void Erase(const std::string& key) {
    const auto found = model_.find(key);
    if (found == model_.end()) return;
    tree_.Erase(found->second.first.get());
    model_.erase(found);
  }
  void Toggle(const std::string& key) {
    const auto found = model_.find(key);
    if (found == model_.end()) return;
    found->second.second = !found->second.second;
    tree_.SetAlive(found->second.first.get(), found->second.second);
  }
  void BulkLoad() {
    std::vector<KeyEntry*> sorted;
    for (auto& [key, entry] : model_) sorted.push_back(entry.first.get());
    tree_.BulkLoad(sorted);
  }
  void AddToModel(const std::string& key, bool alive) {
    model_.try_emplace(key, KeyEntry::New(key, State(alive)), alive);
  }

  void ExpectSame(const std::string& probe) const {
    std::int64_t before = 0;
    for (const auto& [key, entry] : model_) before += key < probe && entry.second ? 1 : 0;
    ASSERT_EQ(tree_.LiveBefore(probe), before);
    ASSERT_EQ(tree_.size(), static_cast<std::int64_t>(model_.size()));
    auto expected = model_.lower_bound(probe);
    CountedTree::Cursor cursor = tree_.Seek(probe);
    for (int i = 0; i < 100 && expected != model_.end(); ++i, ++expected, cursor.Next()) {
      ASSERT_TRUE(cursor.valid());
      ASSERT_EQ(cursor.entry()->key(), expected->first);
    }
    ASSERT_EQ(cursor.valid(), expected != model_.end());
  }

 private:
  std::map<std::string, std::pair<KeyEntry::Owner, bool>> model_;
  CountedTree tree_;
};

void RandomWalk(unsigned seed, int key_count, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TreeWithModel tree;
  const auto random_key = [&] { return std::to_string(random() % static_cast<unsigned>(key_count)); };
  for (int step = 0; step < steps; ++step) {
    // Phases that grow and phases that shrink, so that nodes split and disappear.
    const bool growing = step / (steps / 6) % 2 == 0;
    const unsigned dice = random() % 10;
    if (dice < (growing ? 7U : 2U)) {
      tree.Insert(random_key(), random() % 2 == 0);
    } else if (dice < 9) {
      tree.Erase(random_key());
    } else {
      tree.Toggle(random_key());
    }
    if (step % 50 == 0) {
      tree.ExpectSame(random_key());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CountedTreeTest, EmptyTreeHasNothing) {
  CountedTree tree;
  EXPECT_FALSE(tree.Seek("").valid());
  EXPECT_EQ(tree.LiveBefore("z"), 0);
  EXPECT_EQ(tree.live(), 0);
}

TEST(CountedTreeTest, AgreesWithAMapOnFewKeys) { RandomWalk(1, 40, 6000); }
TEST(CountedTreeTest, AgreesWithAMapOnManyKeys) { RandomWalk(2, 20000, 60000); }

TEST(CountedTreeTest, AscendingAndDescendingInserts) {
  TreeWithModel ascending;
  TreeWithModel descending;
  for (int i = 0; i < 10000; ++i) {
    ascending.Insert(std::to_string(100000 + i), i % 3 != 0);
    descending.Insert(std::to_string(900000 - i), i % 3 != 0);
  }
  for (const char* probe : {"", "100000", "103333", "109999", "2", "890001", "895000", "900000", "91"}) {
    ascending.ExpectSame(probe);
    descending.ExpectSame(probe);
  }
}

TEST(CountedTreeTest, EraseEverythingThenInsertAgain) {
  TreeWithModel tree;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) tree.Insert(std::to_string(10000 + i), true);
    tree.ExpectSame("12500");
    for (int i = 0; i < 5000; ++i) tree.Erase(std::to_string(10000 + i));
    tree.ExpectSame("");
  }
}

TEST(CountedTreeTest, BulkLoadedTreeGoesOnGrowing) {
  for (const int size : {0, 1, 56, 57, 3136, 3137, 20000}) {
    TreeWithModel tree;
    for (int i = 0; i < size; ++i) tree.AddToModel(std::to_string(100000 + 2 * i), i % 4 != 0);
    tree.BulkLoad();
    tree.ExpectSame("");
    tree.ExpectSame("110001");
    for (int i = 0; i < size; i += 3) tree.Insert(std::to_string(100001 + 2 * i), true);
    for (int i = 0; i < size; i += 5) tree.Erase(std::to_string(100000 + 2 * i));
    tree.ExpectSame("");
    tree.ExpectSame("120000");
  }
}

}  // namespace
}  // namespace kvist::kv
