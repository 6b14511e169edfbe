#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace kvist::log {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using testing::ElementsAre;
using testing::MatchesRegex;

// 2006-01-02T15:04:05.000042Z.
const system_clock::time_point kTime{seconds(1136214245) + microseconds(42)};

std::string Json(std::string_view message, Fields fields = {}) {
  return FormatLine(Format::kJson, Level::kInfo, kTime, message, fields);
}

std::string Text(std::string_view message, Fields fields = {}) {
  return FormatLine(Format::kText, Level::kInfo, kTime, message, fields);
}

// What a json line says of `value`, and a text line of the same.
template <typename T>
std::string JsonOf(const T& value) {
  const std::string line = Json("m", {{"k", value}});
  const std::string head = Json("m", {{"k", ""}});
  return line.substr(head.size() - 3, line.size() - head.size() + 2);
}

template <typename T>
std::string TextOf(const T& value) {
  return Text("m", {{"k", value}}).substr(Text("m k=").size());
}

// A string type that does not convert to std::string_view, as absl::string_view on Debian.
struct ForeignString {
  const char* data() const { return "foreign"; }
  size_t size() const { return 7; }
};

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { Configure(Format::kJson, Level::kInfo); }
};

TEST_F(LogTest, JsonLineHasLevelTimeMessageThenFieldsInTheirOrder) {
  const std::string address = "127.0.0.1:2379";
  EXPECT_EQ(Json("serving client requests", {{"address", address}, {"revision", 12}}),
            R"({"level":"info","ts":"2006-01-02T15:04:05.000042Z","msg":"serving client requests",)"
            R"("address":"127.0.0.1:2379","revision":12})");
  EXPECT_EQ(Json("done"), R"({"level":"info","ts":"2006-01-02T15:04:05.000042Z","msg":"done"})");
}

TEST_F(LogTest, TextLineHasTimeLevelMessageThenFieldsInTheirOrder) {
  EXPECT_EQ(Text("serving client requests", {{"address", "127.0.0.1:2379"}, {"revision", 12}}),
            "2006-01-02T15:04:05.000042Z INFO  serving client requests address=127.0.0.1:2379 revision=12");
  EXPECT_EQ(Text("done"), "2006-01-02T15:04:05.000042Z INFO  done");
}

TEST_F(LogTest, EveryLevelHasItsName) {
  const auto line = [](Format format, Level level) { return FormatLine(format, level, {}, "m", {}); };
  EXPECT_EQ(line(Format::kJson, Level::kDebug),
            R"({"level":"debug","ts":"1970-01-01T00:00:00.000000Z","msg":"m"})");
  EXPECT_EQ(line(Format::kJson, Level::kWarn),
            R"({"level":"warn","ts":"1970-01-01T00:00:00.000000Z","msg":"m"})");
  EXPECT_EQ(line(Format::kJson, Level::kError),
            R"({"level":"error","ts":"1970-01-01T00:00:00.000000Z","msg":"m"})");
  EXPECT_EQ(line(Format::kText, Level::kDebug), "1970-01-01T00:00:00.000000Z DEBUG m");
  EXPECT_EQ(line(Format::kText, Level::kWarn), "1970-01-01T00:00:00.000000Z WARN  m");
  EXPECT_EQ(line(Format::kText, Level::kError), "1970-01-01T00:00:00.000000Z ERROR m");
}

TEST_F(LogTest, TimesBefore1970AndMicrosecondsAreExact) {
  const auto line = [](nanoseconds since_epoch) {
    const system_clock::time_point time(since_epoch);
    return FormatLine(Format::kText, Level::kInfo, time, "m", {});
  };
  EXPECT_EQ(line(nanoseconds(-1)), "1969-12-31T23:59:59.999999Z INFO  m");
  EXPECT_EQ(line(seconds(951782400) + nanoseconds(123456789)), "2000-02-29T00:00:00.123456Z INFO  m");
}

TEST_F(LogTest, StringsOfEveryKind) {
  const char* pointer = "pointer";
  EXPECT_EQ(JsonOf(std::string("owned")), R"("owned")");
  EXPECT_EQ(JsonOf(std::string_view("viewed")), R"("viewed")");
  EXPECT_EQ(JsonOf(pointer), R"("pointer")");
  EXPECT_EQ(JsonOf(ForeignString()), R"("foreign")");
  EXPECT_EQ(JsonOf(""), R"("")");
}

TEST_F(LogTest, NumbersAndTruthValues) {
  EXPECT_EQ(JsonOf(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(JsonOf(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(JsonOf(0.1), "0.1");
  EXPECT_EQ(JsonOf(-1e300), "-1e+300");
  EXPECT_EQ(JsonOf(true), "true");
  EXPECT_EQ(TextOf(false), "false");
  EXPECT_EQ(TextOf(uint16_t{2379}), "2379");
}

TEST_F(LogTest, NumbersThatJsonHasNotAreStrings) {
  EXPECT_EQ(JsonOf(std::nan("")), R"("NaN")");
  EXPECT_EQ(JsonOf(HUGE_VAL), R"("+Inf")");
  EXPECT_EQ(JsonOf(-HUGE_VAL), R"("-Inf")");
}

TEST_F(LogTest, DurationsReadAsInGo) {
  EXPECT_EQ(JsonOf(milliseconds(1500)), R"("1.5s")");
  EXPECT_EQ(TextOf(nanoseconds(0)), "0s");
  EXPECT_EQ(TextOf(nanoseconds(999)), "999ns");
  EXPECT_EQ(TextOf(nanoseconds(1050)), "1.05\u00B5s");
  EXPECT_EQ(TextOf(microseconds(2040)), "2.04ms");
  EXPECT_EQ(TextOf(minutes(2)), "2m0s");
  EXPECT_EQ(TextOf(hours(26) + milliseconds(7)), "26h0m0.007s");
  EXPECT_EQ(TextOf(milliseconds(-3)), "-3ms");
  EXPECT_EQ(TextOf(nanoseconds::min()), "-2562047h47m16.854775808s");
}

TEST_F(LogTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(JsonOf(std::string("a\0b\n\r\t\x1b[31m\x7f", 12)), R"("a\u0000b\n\r\t\u001b[31m\u007f")");
  EXPECT_EQ(JsonOf("\xC2\x9B"), R"("\u009b")");  // CSI, as terminals obey it.
  EXPECT_EQ(JsonOf(R"(say "\")"), R"("say \"\\\"")");
  EXPECT_EQ(Json("two\nlines"), R"({"level":"info","ts":"2006-01-02T15:04:05.000042Z","msg":"two\nlines"})");
  EXPECT_EQ(Text("two\nlines"), R"(2006-01-02T15:04:05.000042Z INFO  two\nlines)");
}

TEST_F(LogTest, BytesThatAreNotUtf8AreReplacedOneByOne) {
  EXPECT_EQ(JsonOf("sn\u00F6 \u96EA \U0001F332"), "\"sn\u00F6 \u96EA \U0001F332\"");
  EXPECT_EQ(JsonOf("\xFFok\x80"), "\"\uFFFDok\uFFFD\"");
  EXPECT_EQ(JsonOf("\xC3"), "\"\uFFFD\"");                                // Cut off.
  EXPECT_EQ(JsonOf("\xC0\xAF"), "\"\uFFFD\uFFFD\"");                      // Overlong '/'.
  EXPECT_EQ(JsonOf("\xE0\x80\xAF"), "\"\uFFFD\uFFFD\uFFFD\"");            // Overlong too.
  EXPECT_EQ(JsonOf("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");            // A surrogate.
  EXPECT_EQ(JsonOf("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // Past U+10FFFF.
}

TEST_F(LogTest, TextValuesAreQuotedWhenTheyCouldBeMisread) {
  EXPECT_EQ(TextOf("plain/word:1"), "plain/word:1");
  EXPECT_EQ(TextOf("two words"), R"("two words")");
  EXPECT_EQ(TextOf("a=b"), R"("a=b")");
  EXPECT_EQ(TextOf(R"(")"), R"("\"")");
  EXPECT_EQ(TextOf(""), R"("")");
  EXPECT_EQ(TextOf("line\nERROR forged"), R"("line\nERROR forged")");
}

TEST_F(LogTest, LevelsBelowTheConfiguredAreNotWritten) {
  const Capture capture;
  Configure(Format::kText, Level::kWarn);
  Debug("a");
  Info("b");
  Warn("c", {{"n", 1}});
  Error("d");
  EXPECT_FALSE(Enabled(Level::kInfo));
  EXPECT_TRUE(Enabled(Level::kWarn));
  const char* time = "[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z ";
  EXPECT_THAT(capture.Lines(), ElementsAre(MatchesRegex(time + std::string("WARN  c n=1")),
                                           MatchesRegex(time + std::string("ERROR d"))));
}

TEST_F(LogTest, LogsJsonFromInfoUpUntilConfigured) {
  const Capture capture;
  Debug("a");
  Info("b");
  EXPECT_THAT(capture.Lines(), ElementsAre(MatchesRegex(R"(\{"level":"info","ts":"[^"]+","msg":"b"\})")));
}

TEST_F(LogTest, WritesWholeLinesToStderr) {
  Configure(Format::kText, Level::kDebug);
  testing::internal::CaptureStderr();
  Debug("first");
  Info("second");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, MatchesRegex("[^ ]+ DEBUG first\n[^ ]+ INFO  second\n"));
}

TEST_F(LogTest, LinesOfManyThreadsNeverMix) {
  constexpr int kThreads = 4;
  constexpr int kLinesEach = 200;
  const Capture capture;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kLinesEach; ++i) Info("from a thread", {{"thread", t}, {"line", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> next(kThreads, 0);
  for (const std::string& line : capture.Lines()) {
    const int t = line[line.find(R"("thread":)") + 9] - '0';
    ASSERT_TRUE(t >= 0 && t < kThreads) << line;
    const std::string tail = R"("msg":"from a thread","thread":)" + std::to_string(t) + R"(,"line":)" +
                             std::to_string(next[static_cast<size_t>(t)]++) + "}";
    EXPECT_TRUE(line.ends_with(tail)) << line << " should end with " << tail;
  }
  EXPECT_THAT(next, ElementsAre(kLinesEach, kLinesEach, kLinesEach, kLinesEach));
}

}  // namespace
}  // namespace kvist::log
