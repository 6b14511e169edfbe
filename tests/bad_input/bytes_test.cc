// What a server gets when a client is broken: messages that are none, messages too large or nested too
// deep, and connections that end in the middle.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/bad_input/fixture.h"
#include "tests/bad_input/raw_connection.h"
#include "tests/support/random.h"

namespace kvist::blackbox {
namespace {

using grpc::StatusCode;

constexpr std::size_t kMaxRequestBytes = 1536 * 1024;
constexpr std::size_t kMaxMessageBytes = kMaxRequestBytes + 512 * 1024;
constexpr char kNotAMessage[] = "proto: cannot parse invalid wire-format data";

class BytesTest : public BadInputTest {
 protected:
  // Calls a method with `message` as its request, whatever that is. Drops the answers.
  grpc::Status CallWith(const std::string& method, const std::string& message) {
    grpc::GenericStub stub(client().channel);
    Call call;
    grpc::CompletionQueue queue;
    const auto rpc = stub.PrepareCall(&call, method, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    rpc->StartCall(nullptr);
    wait();
    grpc::Slice slice(message);
    rpc->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    wait();
    grpc::ByteBuffer answer;
    do {
      rpc->Read(&answer, nullptr);
    } while (wait());
    grpc::Status status;
    rpc->Finish(&status, nullptr);
    wait();
    return status;
  }

  static std::ptrdiff_t OpenFiles() {
    const std::filesystem::directory_iterator files(absl::StrCat("/proc/", server().pid(), "/fd"));
    return std::distance(begin(files), end(files));
  }
};

// Go's protobuf writes either of two kinds of space here, by chance.
grpc::Status PlainSpaces(const grpc::Status& status) {
  return {status.error_code(), absl::StrReplaceAll(status.error_message(), {{"\u00a0", " "}})};
}

TEST_F(BytesTest, GarbageIsNoRequest) {
  // A field whose length runs out of the message, a field number of zero, and a length without end.
  for (const std::string& garbage : {std::string("\x0a\x7f"
                                                 "abc"),
                                     std::string("\x02\x01"
                                                 "a"),
                                     std::string(20, '\xff')}) {
    for (const char* method : {"Range", "Put", "DeleteRange", "Txn", "Compact"}) {
      EXPECT_TRUE(Refused(PlainSpaces(CallWith(absl::StrCat("/etcdserverpb.KV/", method), garbage)),
                          StatusCode::INTERNAL,
                          absl::StrCat("grpc: error unmarshalling request: ", kNotAMessage)))
          << method;
    }
    EXPECT_TRUE(Refused(PlainSpaces(CallWith("/etcdserverpb.Watch/Watch", garbage)), StatusCode::INTERNAL,
                        absl::StrCat("grpc: failed to unmarshal the received message: ", kNotAMessage)));
  }
}

// Most of it is no message; some of it is, by chance, of fields nobody knows. None of it may do harm.
TEST_F(BytesTest, RandomBytesDoNoHarm) {
  Random random(ChooseSeed());
  for (int i = 0; i < 300; ++i) {
    std::string bytes = random.Bytes(static_cast<std::size_t>(random.Below(40)));
    // Not a put by chance: that would be a write, and right.
    for (const char* method : {"Range", "Txn", "Compact"})
      CallWith(absl::StrCat("/etcdserverpb.KV/", method), bytes);
  }
}

TEST_F(BytesTest, UnknownMethods) {
  EXPECT_TRUE(Refused(CallWith("/etcdserverpb.KV/Fetch", ""), StatusCode::UNIMPLEMENTED,
                      "unknown method Fetch for service etcdserverpb.KV"));
  EXPECT_TRUE(Refused(CallWith("/etcdserverpb.KW/Range", ""), StatusCode::UNIMPLEMENTED,
                      "unknown service etcdserverpb.KW"));
}

// A length-delimited field.
std::string Wrap(char tag, const std::string& content) {
  std::string bytes(1, tag);
  std::size_t size = content.size();
  for (; size > 0x7f; size >>= 7) bytes.push_back(static_cast<char>(0x80 | (size & 0x7f)));
  bytes.push_back(static_cast<char>(size));
  return bytes + content;
}

// `depth` Txns, one in the other: TxnRequest.success = 2 holds RequestOp.request_txn = 4.
std::string NestedTxns(int depth) {
  std::string txn;
  for (int i = 0; i < depth; ++i) txn = Wrap(0x12, Wrap(0x22, txn));
  return txn;
}

TEST_F(BytesTest, NestingDoesNotExhaustTheStack) {
  // Each level takes one of the 128 operations from those below.
  const grpc::Status deepest = CallWith("/etcdserverpb.KV/Txn", NestedTxns(128));
  EXPECT_TRUE(deepest.ok()) << Describe(deepest);
  for (const int depth : {129, 1000}) {
    EXPECT_TRUE(Refused(CallWith("/etcdserverpb.KV/Txn", NestedTxns(depth)), StatusCode::INVALID_ARGUMENT,
                        "etcdserver: too many operations in txn request"))
        << depth;
  }
  // So deep that etcd gives up reading the message. A server may as well read it and count.
  const grpc::Status status = CallWith("/etcdserverpb.KV/Txn", NestedTxns(12000));
  EXPECT_TRUE(status.error_code() == StatusCode::INTERNAL ||
              status.error_code() == StatusCode::INVALID_ARGUMENT)
      << Describe(status);
}

TEST_F(BytesTest, RequestsThatAreTooLarge) {
  constexpr char kTooLarge[] = "etcdserver: request is too large";
  const std::string most(kMaxRequestBytes - 1024, 'v');
  const std::string too_much(kMaxRequestBytes + 1, 'v');
  EXPECT_TRUE(Put("large", most).ok());
  Wrote();
  EXPECT_TRUE(Refused(Put("large", too_much), StatusCode::INVALID_ARGUMENT, kTooLarge));
  EXPECT_TRUE(Refused(Put(too_much, ""), StatusCode::INVALID_ARGUMENT, kTooLarge));

  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_put()->set_key("half/1");
  txn.add_success()->mutable_request_put()->set_key("half/2");
  for (auto& op : *txn.mutable_success())
    op.mutable_request_put()->set_value(most.substr(0, most.size() / 2 + 1024));
  EXPECT_TRUE(Refused(Txn(txn), StatusCode::INVALID_ARGUMENT, kTooLarge));

  // Reads have no such limit.
  Call call;
  etcdserverpb::RangeRequest range;
  range.set_key(too_much);
  etcdserverpb::RangeResponse response;
  EXPECT_TRUE(client().kv->Range(&call, range, &response).ok());
}

TEST_F(BytesTest, MessagesThatAreTooLarge) {
  etcdserverpb::PutRequest put;
  put.set_key("k");
  put.set_value(std::string(kMaxMessageBytes, 'v'));
  EXPECT_TRUE(Refused(Put("k", put.value()), StatusCode::RESOURCE_EXHAUSTED,
                      absl::StrCat("grpc: received message larger than max (", put.ByteSizeLong(), " vs. ",
                                   kMaxMessageBytes, ")")));
}

TEST_F(BytesTest, ClientsThatVanish) {
  // Warm up: what the server keeps once is not a leak.
  { RawConnection connection(server().port()); }
  const std::ptrdiff_t files = OpenFiles();
  etcdserverpb::WatchRequest watch;
  watch.mutable_create_request()->set_key("vanishing");
  watch.mutable_create_request()->set_watch_id(5);
  etcdserverpb::PutRequest put;
  put.set_key("vanishing");
  put.set_value(std::string(1000, 'v'));
  for (int i = 0; i < 50; ++i) {
    RawConnection connection(server().port());
    connection.SendPreface();
    connection.StartCall(1, "/etcdserverpb.Watch/Watch");
    connection.SendMessage(1, watch.SerializeAsString());
    // watch_id = 5 and created = true, as they come over the wire.
    ASSERT_TRUE(connection.AwaitText("\x10\x05\x18\x01"));
    connection.StartCall(3, "/etcdserverpb.KV/Put");
    connection.SendMessage(3, put.SerializeAsString(), 500);
  }
  for (int tries = 0; OpenFiles() > files + 2 && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LE(OpenFiles(), files + 2) << "connections that nobody holds any more";
}

TEST_F(BytesTest, ConnectionsThatSpeakSomethingElse) {
  RawConnection garbage(server().port());
  garbage.Send(std::string(1000, '\x01'));
  EXPECT_TRUE(garbage.AwaitEnd());
  RawConnection silent(server().port());
  RawConnection half(server().port());
  half.Send("PRI * HTTP/2");
  EXPECT_TRUE(Range("key: 'a'").ok());  // while those two are open
}

}  // namespace
}  // namespace kvist::blackbox
