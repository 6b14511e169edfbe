#include "server/listen_check.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace kvist::server {
namespace {

std::string Check(const std::string& url) {
  const absl::Status status = CheckCanListen(ParseListenUrl(url).value());
  return status.ok() ? "ok" : std::string(status.message().data(), status.message().size());
}

TEST(ListenCheckTest, AnAddressInUseUntilItIsFree) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const std::string url = absl::StrCat("http://", host, ":", port);
    EXPECT_EQ(
        Check(url),
        "cannot listen on " + url +
            ": another process listens there; stop it, or choose another address with --listen-client-urls");
  }
  close(fd);
  EXPECT_EQ(Check("http://127.0.0.1:" + port), "ok");
}

TEST(ListenCheckTest, AddressesOfOthersAndOfBothFamilies) {
  EXPECT_EQ(Check("http://192.0.2.1:2379"),
            "cannot listen on http://192.0.2.1:2379: this machine has no such "
            "address; choose another with --listen-client-urls");
  EXPECT_EQ(Check("http://0.0.0.0:0"), "ok");
}

TEST(ListenCheckTest, APathWhereSomebodyAnswers) {
  std::string directory = ::testing::TempDir() + "listen-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/socket";
  EXPECT_EQ(Check("unix://" + path), "ok");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_EQ(
      Check("unix://" + path),
      absl::StrCat(
          "cannot listen on unix://", path,
          ": another process listens there; stop it, or choose another address with --listen-client-urls"));
  close(fd);
  EXPECT_EQ(Check("unix://" + path), "ok")
      << "what a server that was killed leaves behind is in nobody's way";
  unlink(path.c_str());
  rmdir(directory.c_str());
}

}  // namespace
}  // namespace kvist::server
