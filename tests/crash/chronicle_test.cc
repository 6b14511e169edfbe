// The chronicle itself: each kind of damage a crash could do must be noticed.

#include "tests/crash/chronicle.h"

#include <gtest/gtest.h>

namespace kvist::blackbox {
namespace {

mvccpb::Event Put(const std::string& key, const std::string& value, std::int64_t revision) {
  mvccpb::Event event;
  event.mutable_kv()->set_key(key);
  event.mutable_kv()->set_value(value);
  event.mutable_kv()->set_mod_revision(revision);
  return event;
}

mvccpb::Event Delete(const std::string& key, std::int64_t revision) {
  mvccpb::Event event;
  event.set_type(mvccpb::Event::DELETE);
  event.mutable_kv()->set_key(key);
  event.mutable_kv()->set_mod_revision(revision);
  return event;
}

class ChronicleTest : public testing::Test {
 protected:
  ChronicleTest() {
    chronicle_.AddAttempts({{.id = "one", .puts = {"a", "b"}, .delete_prefix = "", .revision = 2},
                            {.id = "two", .puts = {"c"}, .delete_prefix = "", .revision = 0}});
  }
  std::string Learn(const std::vector<mvccpb::Event>& events) {
    std::string fault;
    const std::vector<Moment> moments = SplitByRevision(events, 2, &fault);
    if (fault.empty()) fault = chronicle_.Learn(2, moments);
    if (fault.empty()) fault = chronicle_.CheckAcknowledged();
    return fault;
  }
  Chronicle chronicle_;
};

TEST_F(ChronicleTest, UnansweredWritesMayOrMayNotHaveHappened) {
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2)}), "");
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("c", "two", 3)}), "");
  EXPECT_EQ(chronicle_.last_revision(), 3);
}

TEST_F(ChronicleTest, ALostWriteIsNoticed) { EXPECT_EQ(Learn({}), "one was acknowledged at 2 and is lost"); }

TEST_F(ChronicleTest, HalfAWriteIsNoticed) {
  EXPECT_EQ(Learn({Put("a", "one", 2)}), "revision 2 is only a part of one, or more: [put a = one] ");
}

TEST_F(ChronicleTest, AWriteAtAnotherRevisionIsNoticed) {
  EXPECT_EQ(Learn({Put("c", "two", 2), Put("a", "one", 3), Put("b", "one", 3)}),
            "one was acknowledged at 2 and happened at 3");
}

TEST_F(ChronicleTest, AGapIsNoticed) {
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("c", "two", 4)}), "revision 4 follows 2");
}

TEST_F(ChronicleTest, AWriteThatHappenedTwiceIsNoticed) {
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("c", "two", 3), Put("c", "two", 4)}),
            "two happened at 3 and at 4");
}

TEST_F(ChronicleTest, AWriteOfNobodyIsNoticed) {
  EXPECT_EQ(Learn({Put("a", "three", 2)}), "revision 2 nobody wrote: [put a = three] ");
}

TEST_F(ChronicleTest, HistoryThatChangesIsNoticed) {
  ASSERT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("c", "two", 3)}), "");
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2)}),
            "history ends at 2, but revision 3 had been seen");
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("d", "two", 3)}),
            "revision 3 was [put c = two] and is [put d = two] ");
}

TEST_F(ChronicleTest, ADeleteTakesAllThatWasThere) {
  ASSERT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2)}), "");
  chronicle_.AddAttempts({{.id = "three", .puts = {"x"}, .delete_prefix = "a", .revision = 3}});
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("x", "three", 3), Delete("a", 3)}), "");
  EXPECT_EQ(chronicle_.state(), (std::map<std::string, std::string>{{"b", "one"}, {"x", "three"}}));
}

TEST_F(ChronicleTest, ADeleteThatLeftAKeyIsNoticed) {
  ASSERT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2)}), "");
  chronicle_.AddAttempts({{.id = "three", .puts = {"x"}, .delete_prefix = "a", .revision = 3}});
  EXPECT_EQ(Learn({Put("a", "one", 2), Put("b", "one", 2), Put("x", "three", 3)}),
            "revision 3 is only a part of three, or more: [put x = three] ");
}

}  // namespace
}  // namespace kvist::blackbox
