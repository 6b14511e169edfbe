// A client for wire_compare, for kvist and etcd alike. Knows nothing of kvist but the API.
//
//   wire_load probe ENDPOINT          waits until a Range is answered, and prints the revision
//   wire_load fill ENDPOINT KEYS      puts the first KEYS keys of the benchmarks, as new ones
//   wire_load body FILE put|range|page  writes a request as h2load sends it: the gRPC frame with its message
//
// Keys and values are those of bench/support/scratch.h.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/scratch.h"
#include "proto/etcdserverpb.grpc.pb.h"

namespace kvist::bench {
namespace {

constexpr std::int64_t kPutsPerTxn = 128;  // what etcd takes by default
constexpr int kTxnsInFlight = 16;
constexpr std::int64_t kPageKeys = 500;
constexpr std::chrono::minutes kPatience{5};

std::string KeyBytes(std::int64_t n) { return std::string(Key(n).view()); }

etcdserverpb::PutRequest PutOf(std::int64_t n) {
  etcdserverpb::PutRequest put;
  put.set_key(KeyBytes(n));
  put.set_value(std::string(Value()));
  return put;
}

// Tries again soon when nobody listens yet: how long a server takes to start is measured with this.
std::unique_ptr<etcdserverpb::KV::Stub> Connect(const std::string& endpoint) {
  constexpr int kRetryMs = 10;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kRetryMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kRetryMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kRetryMs);
  return etcdserverpb::KV::NewStub(
      grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments));
}

void DieUnlessOk(const grpc::Status& status, const std::string& doing) {
  if (!status.ok()) Die(doing, status.error_message());
}

void Probe(const std::string& endpoint) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  etcdserverpb::RangeRequest range;
  range.set_key(KeyBytes(0));
  etcdserverpb::RangeResponse reply;
  DieUnlessOk(Connect(endpoint)->Range(&context, range, &reply), "reading from " + endpoint);
  std::printf("%lld\n", static_cast<long long>(reply.header().revision()));
}

// A Txn on its way.
struct FillCall {
  grpc::ClientContext context;
  etcdserverpb::TxnResponse reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<etcdserverpb::TxnResponse>> reader;
};

// Keeps some Txns in flight until all keys are there.
class Filler {
 public:
  Filler(const std::string& endpoint, std::int64_t keys) : stub_(Connect(endpoint)), keys_(keys) {}

  void Run() {
    for (int i = 0; i < kTxnsInFlight; ++i) StartNext();
    void* tag = nullptr;
    bool ok = false;
    while (in_flight_ > 0 && queue_.Next(&tag, &ok)) {
      const std::unique_ptr<FillCall> call(static_cast<FillCall*>(tag));
      --in_flight_;
      DieUnlessOk(call->status, "filling");
      StartNext();
    }
  }

 private:
  void StartNext() {
    if (next_ == keys_) return;
    etcdserverpb::TxnRequest txn;
    const std::int64_t end = std::min(keys_, next_ + kPutsPerTxn);
    for (; next_ < end; ++next_) *txn.add_success()->mutable_request_put() = PutOf(next_);
    auto call = std::make_unique<FillCall>();
    call->reader = stub_->AsyncTxn(&call->context, txn, &queue_);
    FillCall* const tag = call.release();
    tag->reader->Finish(&tag->reply, &tag->status, tag);
    ++in_flight_;
  }

  const std::unique_ptr<etcdserverpb::KV::Stub> stub_;
  const std::int64_t keys_;
  grpc::CompletionQueue queue_;
  std::int64_t next_ = 0;
  int in_flight_ = 0;
};

std::string RequestOfKind(std::string_view kind) {
  if (kind == "put") return PutOf(0).SerializeAsString();
  etcdserverpb::RangeRequest range;
  range.set_key(KeyBytes(0));
  if (kind == "page") {
    range.set_range_end("/registry/pods/default/pod.");
    range.set_limit(kPageKeys);
  } else if (kind != "range") {
    Die("writing a request", "its kind is put, range or page");
  }
  return range.SerializeAsString();
}

void WriteBody(const std::string& path, std::string_view kind) {
  const std::string message = RequestOfKind(kind);
  std::string frame(1, '\0');  // not compressed
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(message.size() >> shift));
  std::ofstream file(path, std::ios::binary);
  file << frame << message;
  if (!file.flush()) Die("writing " + path, "the file cannot be written");
}

int Main(const std::vector<std::string>& args) {
  if (args.size() == 2 && args[0] == "probe") {
    Probe(args[1]);
  } else if (args.size() == 3 && args[0] == "fill") {
    std::int64_t keys = 0;
    const std::string& text = args[2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), keys);
    if (error != std::errc() || end != text.data() + text.size()) Die("filling", "KEYS is not a number");
    Filler(args[1], keys).Run();
  } else if (args.size() == 3 && args[0] == "body") {
    WriteBody(args[1], args[2]);
  } else {
    std::fprintf(stderr, "usage: wire_load probe ENDPOINT | fill ENDPOINT KEYS | body FILE put|range|page\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace kvist::bench

int main(int argc, char** argv) { return kvist::bench::Main({argv + 1, argv + argc}); }
