// A connection to a server under test, and the few things every test does with etcd's messages.

#ifndef KVIST_TESTS_SUPPORT_CLIENT_H_
#define KVIST_TESTS_SUPPORT_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "proto/etcdserverpb.grpc.pb.h"

namespace kvist::blackbox {

// A call that takes longer than this has failed.
inline constexpr auto kCallTimeout = std::chrono::seconds(30);

// A context with the deadline above.
class Call : public grpc::ClientContext {
 public:
  Call() { set_deadline(std::chrono::system_clock::now() + kCallTimeout); }
};

// One TCP connection of its own and stubs on it. May be shared between threads.
struct Client {
  explicit Client(int port);

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
};

// The end of the range of all keys that start with `prefix`; "\0", which means no end, if there is none.
std::string PrefixEnd(std::string_view prefix);

// Whether etcd's range [key, range_end) holds `candidate`.
bool InRange(std::string_view candidate, std::string_view key, std::string_view range_end);

// One line of text; long byte strings are cut.
std::string Describe(const google::protobuf::Message& message);
// "OK", or the code's number and the text.
std::string Describe(const grpc::Status& status);

// Clears what two servers may differ in: cluster and member ids and terms, in every header inside.
void ClearIdentity(google::protobuf::Message* message);

// Calls `visit` with `message` and with each message inside it.
void ForEachMessage(google::protobuf::Message* message,
                    const std::function<void(google::protobuf::Message*)>& visit);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_SUPPORT_CLIENT_H_
