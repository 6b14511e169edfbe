#include "watch/interval_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kvist::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Tree = IntervalTree<std::string>;

std::vector<std::string> Containing(const Tree& tree, std::string_view key) {
  std::vector<std::string> found;
  tree.VisitContaining(key, [&](const std::string& value) { found.push_back(value); });
  return found;
}

Tree::Node* Insert(Tree* tree, std::string_view begin, std::string end, std::string value) {
  Tree::Node* const node = tree->FindOrInsert(begin, {.key = std::move(end), .open = false});
  node->value = std::move(value);
  return node;
}

TEST(IntervalTreeTest, EmptyTreeContainsNothing) {
  const Tree tree;
  EXPECT_TRUE(tree.empty());
  EXPECT_THAT(Containing(tree, "a"), IsEmpty());
}

TEST(IntervalTreeTest, BeginIsInAndEndIsOut) {
  Tree tree;
  Insert(&tree, "b", "d", "bd");
  EXPECT_THAT(Containing(tree, "a"), IsEmpty());
  EXPECT_THAT(Containing(tree, "b"), ElementsAre("bd"));
  EXPECT_THAT(Containing(tree, std::string("c\xff")), ElementsAre("bd"));
  EXPECT_THAT(Containing(tree, "d"), IsEmpty());
}

TEST(IntervalTreeTest, KeysCompareAsUnsignedBytesOfAnyValue) {
  Tree tree;
  Insert(&tree, std::string("a\0", 2), "a\x80", "low");
  Insert(&tree, "a\x80", "b", "high");
  EXPECT_THAT(Containing(tree, "a"), IsEmpty());
  EXPECT_THAT(Containing(tree, std::string("a\0\0", 3)), ElementsAre("low"));
  EXPECT_THAT(Containing(tree, "a\x7f"), ElementsAre("low"));
  EXPECT_THAT(Containing(tree, "a\xff"), ElementsAre("high"));
}

TEST(IntervalTreeTest, AnOpenRangeHoldsEverythingFromItsBegin) {
  Tree tree;
  tree.FindOrInsert("m", {.key = {}, .open = true})->value = "open";
  Insert(&tree, "m", "n", "mn");
  EXPECT_THAT(Containing(tree, "l"), IsEmpty());
  EXPECT_THAT(Containing(tree, "m"), UnorderedElementsAre("open", "mn"));
  EXPECT_THAT(Containing(tree, "\xff\xff\xff"), ElementsAre("open"));
}

TEST(IntervalTreeTest, EqualRangesShareANode) {
  Tree tree;
  Tree::Node* const node = Insert(&tree, "a", "c", "first");
  EXPECT_EQ(tree.FindOrInsert("a", {.key = "c", .open = false}), node);
  EXPECT_NE(tree.FindOrInsert("a", {.key = "d", .open = false}), node);
  EXPECT_EQ(node->value, "first");
}

TEST(IntervalTreeTest, ErasedRangesAreNotFound) {
  Tree tree;
  Tree::Node* const ac = Insert(&tree, "a", "c", "ac");
  Tree::Node* const bd = Insert(&tree, "b", "d", "bd");
  tree.Erase(ac);
  EXPECT_THAT(Containing(tree, "b"), ElementsAre("bd"));
  tree.Erase(bd);
  EXPECT_TRUE(tree.empty());
}

// Random ranges over short keys come and go; what the tree finds is what a walk over all finds.
TEST(IntervalTreeTest, AgreesWithAWalkOverAllRanges) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto random_key = [&] {
    std::string key(1 + random() % 3, 'a');
    for (char& c : key) c = static_cast<char>('a' + random() % 4);
    return key;
  };
  Tree tree;
  std::map<std::pair<std::string, std::string>, Tree::Node*> ranges;  // an end "~" stands for open
  for (int step = 0; step < 5000; ++step) {
    if (random() % 5 < 3 || ranges.empty()) {
      const std::string begin = random_key();
      const bool open = random() % 8 == 0;
      const std::string end = open ? "~" : random_key();
      if (end <= begin) continue;
      Tree::Node* const node = tree.FindOrInsert(begin, {.key = open ? "" : end, .open = open});
      const auto [range, is_new] = ranges.try_emplace({begin, end}, node);
      ASSERT_EQ(range->second, node);
      node->value = absl::StrCat(begin, "-", end);
    } else {
      const auto range = std::next(ranges.begin(), static_cast<std::ptrdiff_t>(random() % ranges.size()));
      tree.Erase(range->second);
      ranges.erase(range);
    }
    const std::string key = random_key();
    std::vector<std::string> expected;
    for (const auto& [range, node] : ranges) {
      if (range.first <= key && key < range.second) expected.push_back(range.first + "-" + range.second);
    }
    std::vector<std::string> found = Containing(tree, key);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected) << "key " << key << ", step " << step;
  }
}

}  // namespace
}  // namespace kvist::watch
