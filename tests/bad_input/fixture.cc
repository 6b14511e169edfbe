#include "tests/bad_input/fixture.h"

#include <google/protobuf/text_format.h>

namespace kvist::blackbox {

std::unique_ptr<TempDir> BadInputTest::directory_;
std::unique_ptr<ServerProcess> BadInputTest::server_;
std::unique_ptr<Client> BadInputTest::client_;

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

template etcdserverpb::RangeRequest FromText(const std::string& text);
template etcdserverpb::PutRequest FromText(const std::string& text);
template etcdserverpb::DeleteRangeRequest FromText(const std::string& text);
template etcdserverpb::TxnRequest FromText(const std::string& text);
template etcdserverpb::WatchCreateRequest FromText(const std::string& text);

void BadInputTest::SetUpTestSuite() {
  directory_ = std::make_unique<TempDir>();
  ServerOptions options = ServerUnderTest();
  options.data_dir = directory_->path() + "/data";
  options.sync = false;
  auto server = ServerProcess::Start(options);
  if (!server.ok()) GTEST_FAIL() << server.status().message();
  server_ = *std::move(server);
  client_ = std::make_unique<Client>(server_->port());
}

void BadInputTest::TearDownTestSuite() {
  client_.reset();
  server_.reset();
  directory_.reset();
}

void BadInputTest::SetUp() {
  ASSERT_NE(server_, nullptr) << "no server";
  Wrote();
}

void BadInputTest::TearDown() {
  ASSERT_TRUE(server_->Running()) << server_->Log();
  EXPECT_EQ(Revision(), revision_) << "something was written";
  EXPECT_TRUE(Put("after", "all").ok()) << "the server serves no more";
  EXPECT_EQ(Revision(), revision_ + 1);
}

std::int64_t BadInputTest::Revision() {
  etcdserverpb::RangeResponse response;
  EXPECT_TRUE(Range(R"(key: "a")", &response).ok());
  return response.header().revision();
}

grpc::Status BadInputTest::Put(const std::string& key, const std::string& value) {
  Call call;
  etcdserverpb::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  etcdserverpb::PutResponse response;
  return client_->kv->Put(&call, request, &response);
}

grpc::Status BadInputTest::Range(const std::string& text, etcdserverpb::RangeResponse* response) {
  Call call;
  etcdserverpb::RangeResponse unused;
  return client_->kv->Range(&call, FromText<etcdserverpb::RangeRequest>(text),
                            response != nullptr ? response : &unused);
}

grpc::Status BadInputTest::Txn(const etcdserverpb::TxnRequest& request) {
  Call call;
  etcdserverpb::TxnResponse response;
  return client_->kv->Txn(&call, request, &response);
}

grpc::Status BadInputTest::Compact(std::int64_t revision) {
  Call call;
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  etcdserverpb::CompactionResponse response;
  return client_->kv->Compact(&call, request, &response);
}

testing::AssertionResult Refused(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  if (status.error_code() == code && status.error_message() == text) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "want " << Describe(grpc::Status(code, text)) << ", got "
                                     << Describe(status);
}

}  // namespace kvist::blackbox
