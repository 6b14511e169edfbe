// For tests of the front door: a server on a unix socket with a store of its own, and what answers look
// like as text.

#ifndef KVIST_ETCDV3_SERVER_TEST_SUPPORT_H_
#define KVIST_ETCDV3_SERVER_TEST_SUPPORT_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "etcdv3/grpc_server.h"
#include "kv/store.h"
#include "kv/test_support.h"
#include "proto/etcdserverpb.grpc.pb.h"
#include "watch/publisher.h"

namespace kvist::etcdv3 {

struct TestServerOptions {
  // The engine that services see, made from the store; by default the store itself.
  std::function<kv::Engine*(kv::Engine*)> wrap_engine;
  KvServiceOptions kv;
  WatchOptions watch;
  std::size_t range_chunk_bytes = kDefaultRequestBytesMax;
  GrpcServerOptions grpc;
};

class TestServer {
 public:
  explicit TestServer(TestServerOptions options = {}) {
    store_ = kv::Store::Open({.directory = directory_.path() + "/data", .sync = false}).value();
    kv::Engine* engine = options.wrap_engine ? options.wrap_engine(store_.get()) : store_.get();
    publisher_ = watch::Publisher::Create(store_.get());
    const Identity identity = MakeIdentity({kDefaultPeerUrl}, kDefaultClusterToken, store_->OpenCount());
    options.kv.identity = identity;
    options.watch.identity = identity;
    kv_ = std::make_unique<KvService>(engine, options.kv);
    status_ =
        std::make_unique<StatusService>(engine, StatusServiceOptions{.identity = identity,
                                                                     .name = "default",
                                                                     .peer_urls = {kDefaultPeerUrl},
                                                                     .client_urls = {"http://localhost:2379"},
                                                                     .storage_size = [] {
                                                                       return StorageSize{8192, 4096};
                                                                     }});
    options.grpc.addresses = {address()};
    server_ = GrpcServer::Start({.kv = kv_.get(),
                                 .status = status_.get(),
                                 .engine = engine,
                                 .publisher = publisher_.get(),
                                 .watch = options.watch,
                                 .range_chunk_bytes = options.range_chunk_bytes},
                                options.grpc)
                  .value();
  }

  [[nodiscard]] std::string address() const { return "unix:" + directory_.path() + "/socket"; }
  [[nodiscard]] GrpcServer* server() { return server_.get(); }
  [[nodiscard]] kv::Store* store() { return store_.get(); }
  [[nodiscard]] watch::Publisher* publisher() { return publisher_.get(); }

  // A channel with a connection of its own.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    return grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
  }

  kv::Revision Put(const std::string& key, const std::string& value) {
    return store_->Put({.key = key, .value = value}).value().revision;
  }

 private:
  kv::TempDirectory directory_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<watch::Publisher> publisher_;
  std::unique_ptr<KvService> kv_;
  std::unique_ptr<StatusService> status_;
  std::unique_ptr<GrpcServer> server_;
};

// "OK" or "CODE: text", with the number of the code.
inline std::string Verdict(const grpc::Status& status) {
  if (status.ok()) return "OK";
  return std::to_string(status.error_code()) + ": " + status.error_message();
}

// A message on one line.
inline std::string Text(const google::protobuf::Message& message) {
  const std::string text = message.ShortDebugString();
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// Whether `condition` comes to hold within some seconds.
inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_SERVER_TEST_SUPPORT_H_
