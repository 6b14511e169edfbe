#include "server/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvist::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<ServeFlags, Exit> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kvist");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

Exit ParseExit(const std::vector<const char*>& arguments) {
  const std::variant<ServeFlags, Exit> parsed = Parse(arguments);
  EXPECT_TRUE(std::holds_alternative<Exit>(parsed));
  return std::holds_alternative<Exit>(parsed) ? std::get<Exit>(parsed) : Exit{-1, ""};
}

TEST(FlagsTest, DefaultsServeTheUsualPortOnLoopback) {
  const ServeFlags flags = std::get<ServeFlags>(Parse({"serve"}));
  EXPECT_EQ(flags.data_dir, "kvist-data");
  ASSERT_EQ(flags.listen_client_urls.size(), 1U);
  EXPECT_EQ(flags.listen_client_urls[0].address, "127.0.0.1:2379");
  EXPECT_THAT(flags.advertise_client_urls, ElementsAre("http://127.0.0.1:2379"));
  EXPECT_EQ(flags.max_txn_ops, 128);
  EXPECT_EQ(flags.max_request_bytes, 1572864U);
  EXPECT_FALSE(flags.unsafe_no_fsync);
}

TEST(FlagsTest, EveryFlag) {
  const ServeFlags flags = std::get<ServeFlags>(Parse({"serve",
                                                       "--data-dir",
                                                       "d",
                                                       "--listen-client-urls=http://[::1]:1,unix:///tmp/s",
                                                       "--advertise-client-urls",
                                                       "http://a:1,http://b:2",
                                                       "--name",
                                                       "n",
                                                       "--max-txn-ops",
                                                       "5",
                                                       "--max-request-bytes",
                                                       "1000",
                                                       "--log-level",
                                                       "warn",
                                                       "--log-format",
                                                       "text",
                                                       "--unsafe-no-fsync",
                                                       "--watch-progress-notify-interval",
                                                       "1.5s",
                                                       "--warning-unary-request-duration",
                                                       "20ms"}));
  EXPECT_EQ(flags.data_dir, "d");
  ASSERT_EQ(flags.listen_client_urls.size(), 2U);
  EXPECT_EQ(flags.listen_client_urls[0].address, "[::1]:1");
  EXPECT_EQ(flags.listen_client_urls[1].address, "unix:/tmp/s");
  EXPECT_THAT(flags.advertise_client_urls, ElementsAre("http://a:1", "http://b:2"));
  EXPECT_EQ(flags.name, "n");
  EXPECT_EQ(flags.max_txn_ops, 5);
  EXPECT_EQ(flags.max_request_bytes, 1000U);
  EXPECT_EQ(flags.log_level, log::Level::kWarn);
  EXPECT_EQ(flags.log_format, log::Format::kText);
  EXPECT_TRUE(flags.unsafe_no_fsync);
  EXPECT_EQ(flags.watch_progress_notify_interval, std::chrono::milliseconds(1500));
  EXPECT_EQ(flags.warning_unary_request_duration, std::chrono::milliseconds(20));
}

TEST(FlagsTest, ListenUrlsThatCannotBeBoundAreRefusedByName) {
  const auto refusal = [](const char* url) { return ParseExit({"serve", "--listen-client-urls", url}); };
  EXPECT_EQ(refusal("tcp://1.2.3.4:1").code, 1);
  EXPECT_EQ(refusal("tcp://1.2.3.4:1").text,
            "kvist: --listen-client-urls: tcp://1.2.3.4:1: want http://IP:PORT or unix://PATH\n");
  EXPECT_EQ(refusal("http://1.2.3.4").text,
            "kvist: --listen-client-urls: http://1.2.3.4: want a port, as in http://127.0.0.1:2379\n");
  EXPECT_EQ(refusal("http://example.com:1").text,
            "kvist: --listen-client-urls: http://example.com:1: want an IP address or localhost as host\n");
  EXPECT_EQ(
      refusal("https://127.0.0.1:1").text,
      "kvist: --listen-client-urls: https://127.0.0.1:1: TLS is not there yet; want http:// or unix://\n");
  EXPECT_EQ(refusal("unix://").text, "kvist: --listen-client-urls: unix://: want a path behind unix://\n");
}

TEST(FlagsTest, DurationsAreGos) {
  EXPECT_EQ(
      ParseExit({"serve", "--warning-unary-request-duration", "soon"}).text,
      "kvist: --warning-unary-request-duration: soon: want a positive duration such as 300ms, 5s, 10m or "
      "1.5h\n");
  EXPECT_EQ(ParseExit({"serve", "--watch-progress-notify-interval", "99ms"}).text,
            "kvist: --watch-progress-notify-interval: want at least 100ms\n");
}

TEST(FlagsTest, BadFlagsExitWithTwo) {
  EXPECT_EQ(ParseExit({"serve", "--nonsense"}).code, 2);
  EXPECT_THAT(ParseExit({"serve", "--nonsense"}).text, HasSubstr("--nonsense"));
  EXPECT_EQ(ParseExit({"serve", "--max-txn-ops", "many"}).code, 2);
  EXPECT_EQ(ParseExit({"serve", "--max-txn-ops", "0"}).code, 2);
  EXPECT_EQ(ParseExit({"serve", "--log-level", "loud"}).code, 2);
  EXPECT_EQ(ParseExit({}).code, 2);
  EXPECT_EQ(ParseExit({"fly"}).code, 2);
}

TEST(FlagsTest, HelpAndVersionExitWithZero) {
  EXPECT_EQ(ParseExit({"--help"}).code, 0);
  EXPECT_THAT(ParseExit({"serve", "--help"}).text, HasSubstr("--unsafe-no-fsync"));
  EXPECT_THAT(ParseExit({"version"}).text, HasSubstr("etcd API 3.7.1"));
  EXPECT_EQ(ParseExit({"--version"}).code, 0);
}

}  // namespace
}  // namespace kvist::server
