// The way of a request through the service: the bytes of the request in, the bytes of the reply out, in
// process and without a socket. The store is NoSync and has the keys and values of kv_bench.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bench/support/allocation_meter.h"
#include "bench/support/scratch.h"
#include "bench/support/suite.h"
#include "etcdv3/identity.h"
#include "etcdv3/kv_service.h"
#include "etcdv3/reply_buffer.h"
#include "etcdv3/unary_call.h"
#include "proto/etcdserverpb.pb.h"

namespace kvist::bench {
namespace {

constexpr std::int64_t kKeys = 10'000;

// A call that ends where it began. Used again and again, as the server's calls are.
class InlineCall final : public etcdv3::UnaryCall {
 public:
  void Begin(std::string_view message) { set_message(message); }
  [[nodiscard]] const absl::Status& outcome() const { return outcome_; }
  [[nodiscard]] std::string_view reply_bytes() const { return reply_.bytes(); }

  etcdv3::ReplyBuffer* reply() override {
    reply_.Clear();
    return &reply_;
  }
  void Finish(const absl::Status& outcome) override { outcome_ = outcome; }

 private:
  void ScheduleWritten() override { Written(); }
  std::string_view ActorName() override { return "127.0.0.1"; }

  etcdv3::ReplyBuffer reply_;
  absl::Status outcome_;
};

using Method = void (etcdv3::KvService::*)(etcdv3::UnaryCall*);

std::string Bytes(std::string_view view) { return std::string(view); }

// A request as it comes from the wire, whose key can be changed in place.
class Message {
 public:
  template <typename Proto>
  explicit Message(const Proto& proto) : bytes_(proto.SerializeAsString()) {}

  // REQUIRES: the message begins with its key, which is one of ours.
  void SetKey(std::int64_t n) {
    constexpr std::size_t kTagAndLengthBytes = 2;
    bytes_.replace(kTagAndLengthBytes, kKeyBytes, Key(n).view());
  }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A service over a store with the first `keys` keys.
struct Server {
  explicit Server(std::int64_t keys) { store.Load(0, keys); }
  ScratchStore store;
  etcdv3::KvService service{
      &*store,
      {.identity = etcdv3::MakeIdentity({etcdv3::kDefaultPeerUrl}, etcdv3::kDefaultClusterToken, 1),
       .lead = kv::Lead::kCaller}};
};

// Calls `method` with `message`, whose key is `key_of(n)` in the n-th call unless `key_of` is empty.
void Call(benchmark::State& state, Method method, Message message,
          const std::function<std::int64_t(std::int64_t)>& key_of = {}, std::int64_t keys = kKeys) {
  Server server(keys);
  InlineCall call;
  std::int64_t n = 0;
  AllocationMeter allocations(&state);
  for (auto _ : state) {
    if (key_of) message.SetKey(key_of(n++));
    call.Begin(message.bytes());
    (server.service.*method)(&call);
    if (!call.outcome().ok() || call.reply_bytes().empty()) {
      state.SkipWithError(call.outcome().ToString().c_str());
      break;
    }
  }
}

std::int64_t AnyKey(std::int64_t n) { return Scattered(n) % kKeys; }

etcdserverpb::PutRequest Put(const Key& key) {
  etcdserverpb::PutRequest put;
  put.set_key(Bytes(key.view()));
  put.set_value(Bytes(Value()));
  return put;
}

// The first `keys` keys; one if that is 1.
etcdserverpb::RangeRequest Range(std::int64_t keys) {
  etcdserverpb::RangeRequest range;
  range.set_key(Bytes(Key(0).view()));
  if (keys > 1) range.set_range_end(Bytes(Key(keys).view()));
  return range;
}

etcdserverpb::DeleteRangeRequest Delete() {
  etcdserverpb::DeleteRangeRequest request;
  request.set_key(Bytes(Key(0).view()));
  return request;
}

// On the revision in which the first keys were created, or on a later one, in which they were not.
etcdserverpb::TxnRequest CompareAndPut(bool holds) {
  constexpr std::int64_t kFirstRevision = 2;
  etcdserverpb::TxnRequest txn;
  etcdserverpb::Compare* compare = txn.add_compare();
  compare->set_key(Bytes(Key(0).view()));
  compare->set_target(etcdserverpb::Compare::CREATE);
  compare->set_create_revision(holds ? kFirstRevision : kFirstRevision + 1);
  *txn.add_success()->mutable_request_put() = Put(Key(0));
  return txn;
}

etcdserverpb::TxnRequest ReadOnlyTxn() {
  etcdserverpb::TxnRequest txn = CompareAndPut(true);
  *txn.mutable_success(0)->mutable_request_range() = Range(1);
  return txn;
}

etcdserverpb::TxnRequest PutsTxn(int count) {
  etcdserverpb::TxnRequest txn;
  for (int i = 0; i < count; ++i) *txn.add_success()->mutable_request_put() = Put(Key(AnyKey(i)));
  return txn;
}

void AddWrites(Suite* suite) {
  using etcdv3::KvService;
  suite->Add("PutKey/NewKey", [](benchmark::State& state) {
    Call(state, &KvService::Put, Message(Put(Key(0))), [](std::int64_t n) { return kKeys + n; });
  });
  suite->Add("PutKey/Overwrite",
             [](benchmark::State& state) { Call(state, &KvService::Put, Message(Put(Key(0))), AnyKey); });
  suite->Add("DeleteRange/SingleKey", [](benchmark::State& state) {
    Call(
        state, &KvService::DeleteRange, Message(Delete()), [](std::int64_t n) { return n; },
        state.max_iterations);
  });
  suite->Add("Txn/CompareAndSwap",
             [](benchmark::State& state) { Call(state, &KvService::Txn, Message(CompareAndPut(true))); });
  suite->Add("Txn/CompareFails",
             [](benchmark::State& state) { Call(state, &KvService::Txn, Message(CompareAndPut(false))); });
  for (const int count : {1, 5, 20}) {
    suite->Add("Txn/Puts" + std::to_string(count),
               [count](benchmark::State& state) { Call(state, &KvService::Txn, Message(PutsTxn(count))); });
  }
}

void AddReads(Suite* suite) {
  using etcdv3::KvService;
  constexpr Method kRange = &KvService::Range;
  suite->Add("Txn/ReadOnly",
             [](benchmark::State& state) { Call(state, &KvService::Txn, Message(ReadOnlyTxn())); });
  suite->Add("RangeQuery/SingleKey",
             [](benchmark::State& state) { Call(state, kRange, Message(Range(1)), AnyKey); });
  for (const int keys : {10, 100, 1000}) {
    suite->Add("RangeQuery/Prefix" + std::to_string(keys),
               [keys](benchmark::State& state) { Call(state, kRange, Message(Range(keys))); });
  }
  suite->Add("RangeQuery/KeysOnly100", [](benchmark::State& state) {
    etcdserverpb::RangeRequest range = Range(100);
    range.set_keys_only(true);
    Call(state, kRange, Message(range));
  });
}

}  // namespace
}  // namespace kvist::bench

int main(int argc, char** argv) {
  kvist::bench::Suite suite("kvist/etcdv3_bench", argc, argv);
  kvist::bench::AddWrites(&suite);
  kvist::bench::AddReads(&suite);
  return suite.Run();
}
