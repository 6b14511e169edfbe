// Servers that must not start, and say why; and one that stops when told to.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/bad_input/fixture.h"

namespace kvist::blackbox {
namespace {

class StartTest : public BadInputTest {
 protected:
  StartTest() {
    options_.data_dir = directory_.path() + "/data";
    options_.port = FreePort();
  }
  // Runs the server to its end, which must be exit code 1 and a message with each of `words`.
  void ExpectRefusal(const std::vector<std::string>& words) {
    std::string output;
    const ExitStatus exit = RunToEnd(CommandLine(options_), &output);
    EXPECT_EQ(exit.code, 1) << output;
    EXPECT_EQ(exit.signal, 0) << output;
    for (const std::string& word : words)
      EXPECT_NE(output.find(word), std::string::npos) << word << " in " << output;
  }

  const TempDir directory_;
  ServerOptions options_ = ServerUnderTest();
};

TEST_F(StartTest, ASecondServerOnTheSameDirectory) {
  auto first = ServerProcess::Start(options_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  options_.port = FreePort();
  ExpectRefusal({options_.data_dir, "in use by another"});
  EXPECT_TRUE((*first)->Running());
  // Once the first is gone, another one may.
  (*first)->Kill9();
  auto second = ServerProcess::Start(options_);
  EXPECT_TRUE(second.ok()) << second.status().message();
}

TEST_F(StartTest, ADirectoryThatCannotBeMade) {
  options_.data_dir = "/proc/kvist-test/data";  // where not even root can make one
  ExpectRefusal({options_.data_dir});
}

TEST_F(StartTest, ADirectoryThatIsAFile) {
  options_.data_dir = "/dev/null";
  ExpectRefusal({options_.data_dir});
}

TEST_F(StartTest, APortInUse) {
  options_.port = server().port();
  ExpectRefusal({absl::StrCat("127.0.0.1:", server().port()), "another process listens there"});
}

TEST_F(StartTest, AddressesThatAreNone) {
  for (const char* url :
       {"nonsense", "127.0.0.1:24000", "ftp://127.0.0.1:24000", "http://", "http://127.0.0.1",
        "http://127.0.0.1:99999", "http://127.0.0.1:port", "http://example.com:24000", "unix://"}) {
    std::string output;
    const ExitStatus exit = RunToEnd(
        {options_.binary, "serve", "--data-dir", options_.data_dir, "--listen-client-urls", url}, &output);
    EXPECT_EQ(exit.code, 1) << url << ": " << output;
    EXPECT_NE(output.find("--listen-client-urls"), std::string::npos) << output;
    EXPECT_NE(output.find(url), std::string::npos) << output;
  }
}

TEST_F(StartTest, AFlagNobodyKnows) {
  std::string output;
  EXPECT_EQ(RunToEnd({options_.binary, "serve", "--no-such-flag"}, &output).code, 2) << output;
  EXPECT_NE(output.find("--no-such-flag"), std::string::npos) << output;
}

TEST_F(StartTest, SigtermEndsItWithAllThatWasWritten) {
  auto server = ServerProcess::Start(options_);
  ASSERT_TRUE(server.ok()) << server.status().message();
  Call call;
  etcdserverpb::PutRequest put;
  put.set_key("kept");
  put.set_value("v");
  etcdserverpb::PutResponse response;
  const Client client((*server)->port());
  ASSERT_TRUE(client.kv->Put(&call, put, &response).ok());
  const ExitStatus exit = (*server)->Terminate();
  EXPECT_EQ(exit.signal, SIGTERM) << "exit code " << exit.code;

  server = ServerProcess::Start(options_);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const Client again((*server)->port());
  Call read_call;
  etcdserverpb::RangeRequest range;
  range.set_key("kept");
  etcdserverpb::RangeResponse read;
  ASSERT_TRUE(again.kv->Range(&read_call, range, &read).ok());
  ASSERT_EQ(read.kvs_size(), 1);
  EXPECT_EQ(read.kvs(0).value(), "v");
}

}  // namespace
}  // namespace kvist::blackbox
