// What all tests of bad input share: a server, and the check that afterwards nothing has changed and it
// still serves.

#ifndef KVIST_TESTS_BAD_INPUT_FIXTURE_H_
#define KVIST_TESTS_BAD_INPUT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/client.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

namespace kvist::blackbox {

// The messages in the tests are written as text, e.g. R"(key: "a" value: "1")". Fails the test if it is
// not one of `Message`.
template <typename Message>
Message FromText(const std::string& text);

// One server for all tests of a suite.
class BadInputTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  // The server still answers, and has written nothing since SetUp or the last call of Wrote.
  void TearDown() override;

  // The current revision.
  std::int64_t Revision();
  // A write of the test itself succeeded.
  void Wrote() { revision_ = Revision(); }

  grpc::Status Put(const std::string& key, const std::string& value);
  grpc::Status Range(const std::string& text, etcdserverpb::RangeResponse* response = nullptr);
  grpc::Status Txn(const etcdserverpb::TxnRequest& request);
  grpc::Status Compact(std::int64_t revision);

  static ServerProcess& server() { return *server_; }
  static Client& client() { return *client_; }

 private:
  static std::unique_ptr<TempDir> directory_;
  static std::unique_ptr<ServerProcess> server_;
  static std::unique_ptr<Client> client_;
  std::int64_t revision_ = 0;
};

// An expectation of an exact code and an exact text.
testing::AssertionResult Refused(const grpc::Status& status, grpc::StatusCode code, const std::string& text);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_BAD_INPUT_FIXTURE_H_
