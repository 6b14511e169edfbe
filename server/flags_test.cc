// The command line, durations and URLs: what they are read as, and what is refused with which words.

#include "server/flags.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "server/go_duration.h"
#include "server/listen_url.h"

namespace kvist::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Parsed {
  std::optional<int> code;
  CommandLine line;
  std::string out;
  std::string error;
};

Parsed Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kvist");
  Parsed parsed;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.code = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(), &parsed.line);
  parsed.out = testing::internal::GetCapturedStdout();
  parsed.error = testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(FlagsTest, DefaultsAreThoseOfEtcd) {
  const Parsed parsed = Parse({"serve"});
  ASSERT_EQ(parsed.code, std::nullopt);
  EXPECT_EQ(parsed.line.command, Command::kServe);
  const ServeFlags& flags = parsed.line.serve;
  EXPECT_EQ(flags.name, "default");
  EXPECT_EQ(flags.data_dir, "kvist-data");
  EXPECT_EQ(flags.listen_client_urls, std::vector<std::string>{"http://localhost:2379"});
  EXPECT_TRUE(flags.advertise_client_urls.empty());
  EXPECT_EQ(flags.max_txn_ops, 128);
  EXPECT_EQ(flags.max_request_bytes, 1572864U);
  EXPECT_EQ(flags.watch_progress_notify_interval, std::chrono::minutes(10));
  EXPECT_EQ(flags.warning_unary_request_duration, milliseconds(300));
  EXPECT_FALSE(flags.unsafe_no_fsync);
  EXPECT_EQ(flags.log_level, log::Level::kInfo);
  EXPECT_EQ(flags.log_format, log::Format::kJson);
}

TEST(FlagsTest, EveryFlagIsRead) {
  const Parsed parsed = Parse({"serve", "--name=n", "--data-dir", "/d", "--listen-client-urls",
                               "http://127.0.0.1:1,unix:///s", "--advertise-client-urls=http://a:1,http://b:2",
                               "--max-txn-ops=7", "--max-request-bytes=8", "--watch-progress-notify-interval=1.5s",
                               "--warning-unary-request-duration=1m", "--unsafe-no-fsync", "--log-level=warn",
                               "--log-format=text"});
  ASSERT_EQ(parsed.code, std::nullopt);
  const ServeFlags& flags = parsed.line.serve;
  EXPECT_EQ(flags.name, "n");
  EXPECT_EQ(flags.data_dir, "/d");
  EXPECT_EQ(flags.listen_client_urls, (std::vector<std::string>{"http://127.0.0.1:1", "unix:///s"}));
  EXPECT_EQ(flags.advertise_client_urls, (std::vector<std::string>{"http://a:1", "http://b:2"}));
  EXPECT_EQ(flags.max_txn_ops, 7);
  EXPECT_EQ(flags.max_request_bytes, 8U);
  EXPECT_EQ(flags.watch_progress_notify_interval, milliseconds(1500));
  EXPECT_EQ(flags.warning_unary_request_duration, std::chrono::minutes(1));
  EXPECT_TRUE(flags.unsafe_no_fsync);
  EXPECT_EQ(flags.log_level, log::Level::kWarn);
  EXPECT_EQ(flags.log_format, log::Format::kText);
}

TEST(FlagsTest, VersionHelpAndNothing) {
  EXPECT_EQ(Parse({"version"}).line.command, Command::kVersion);
  EXPECT_EQ(Parse({"--version"}).line.command, Command::kVersion);
  const Parsed help = Parse({"serve", "--help"});
  EXPECT_EQ(help.code, kExitOk);
  EXPECT_NE(help.out.find("--data-dir"), std::string::npos);
  EXPECT_NE(help.out.find("etcdctl put greeting hello"), std::string::npos);
  const Parsed nothing = Parse({});
  EXPECT_EQ(nothing.code, kExitBadFlag);
  EXPECT_NE(nothing.error.find("Usage"), std::string::npos);
}

TEST(FlagsTest, WrongOnesAreRefusedByName) {
  const auto error = [](std::vector<const char*> arguments) {
    const Parsed parsed = Parse(std::move(arguments));
    EXPECT_EQ(parsed.code, kExitBadFlag);
    return parsed.error;
  };
  constexpr char kTry[] = ". Try 'kvist serve --help'.\n";
  EXPECT_EQ(error({"serve", "--bogus"}),
            std::string("kvist: The following argument was not expected: --bogus") + kTry);
  EXPECT_EQ(error({"frob"}), std::string("kvist: The following argument was not expected: frob") + kTry);
  EXPECT_EQ(error({"serve", "--log-level=loud"}),
            std::string("kvist: --log-level: \"loud\" is none of debug|info|warn|error") + kTry);
  EXPECT_EQ(error({"serve", "--watch-progress-notify-interval=5"}),
            std::string("kvist: --watch-progress-notify-interval: \"5\" is no duration; write 300ms, 10s, 5m or "
                        "1h30m") + kTry);
  EXPECT_EQ(error({"serve", "--max-txn-ops=0"}),
            std::string("kvist: --max-txn-ops: Value 0 not in range 1 to 1000000") + kTry);
  EXPECT_EQ(error({"serve", "--listen-client-urls=http://a:1,,http://b:1"}),
            std::string("kvist: --listen-client-urls: \"http://a:1,,http://b:1\" has an empty part") + kTry);
}

TEST(GoDurationTest, ReadsWhatGoReads) {
  EXPECT_EQ(ParseGoDuration("0"), nanoseconds(0));
  EXPECT_EQ(ParseGoDuration("300ms"), milliseconds(300));
  EXPECT_EQ(ParseGoDuration("1.5h"), std::chrono::minutes(90));
  EXPECT_EQ(ParseGoDuration("2h45m10s"), std::chrono::seconds(9910));
  EXPECT_EQ(ParseGoDuration("1us"), nanoseconds(1000));
  EXPECT_EQ(ParseGoDuration("1\u00b5s"), nanoseconds(1000));
  EXPECT_EQ(ParseGoDuration(".5s"), milliseconds(500));
  EXPECT_EQ(ParseGoDuration("7ns"), nanoseconds(7));
  for (const char* wrong : {"", "5", "s", "1x", "1 s", "-1s", "1.2.3s", ".s", "9999999999h", "1m2"}) {
    EXPECT_EQ(ParseGoDuration(wrong), std::nullopt) << wrong;
  }
}

std::string ForGrpc(const std::string& url) {
  const auto address = ParseListenUrl(url);
  return address.ok() ? address->ForGrpc() : std::string(address.status().message());
}

TEST(ListenUrlTest, FormsThatAreTaken) {
  EXPECT_EQ(ForGrpc("http://127.0.0.1:2379"), "127.0.0.1:2379");
  EXPECT_EQ(ForGrpc("http://0.0.0.0:1/"), "0.0.0.0:1");
  EXPECT_EQ(ForGrpc("http://localhost:2379"), "localhost:2379");
  EXPECT_EQ(ForGrpc("http://[::1]:2379"), "[::1]:2379");
  EXPECT_EQ(ForGrpc("unix:///run/kvist.sock"), "unix:/run/kvist.sock");
}

TEST(ListenUrlTest, OthersAreRefusedWithAReason) {
  constexpr char kForms[] = "write http://<IP or localhost>:<port> or unix:///<path>";
  const std::string forms = kForms;
  EXPECT_EQ(ForGrpc("https://127.0.0.1:1"), "\"https://127.0.0.1:1\": TLS is not supported yet; " + forms);
  EXPECT_EQ(ForGrpc("127.0.0.1:1"), "\"127.0.0.1:1\": not a URL to listen on; " + forms);
  EXPECT_EQ(ForGrpc("http://127.0.0.1"), "\"http://127.0.0.1\": no host and port; " + forms);
  EXPECT_EQ(ForGrpc("http://127.0.0.1:99999"), "\"http://127.0.0.1:99999\": no host and port; " + forms);
  EXPECT_EQ(ForGrpc("http://::1:2379"), "\"http://::1:2379\": no host and port; " + forms);
  EXPECT_EQ(ForGrpc("http://example.com:1"),
            "\"http://example.com:1\": expected an IP or localhost, since a name may stand for an address of "
            "another machine");
  EXPECT_EQ(ForGrpc("unix://sock"), "\"unix://sock\": the path of a unix socket must begin at the root, as in "
                                    "unix:///run/kvist.sock");
}

TEST(ListenUrlTest, AddressesThatCannotBeHad) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(CheckCanListen(ParseListenUrl(url).value()).message(),
            "cannot listen on " + url +
                ": another process listens there; stop it, or choose another address with --listen-client-urls");
  close(fd);
  EXPECT_TRUE(CheckCanListen(ParseListenUrl(url).value()).ok());
  EXPECT_EQ(CheckCanListen(ParseListenUrl("http://192.0.2.1:2379").value()).message(),
            "cannot listen on http://192.0.2.1:2379: this machine has no such address; choose another with "
            "--listen-client-urls");
}

}  // namespace
}  // namespace kvist::server
