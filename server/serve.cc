// See serve.h.

#include "server/serve.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "etcdv3/grpc_server.h"
#include "etcdv3/identity.h"
#include "etcdv3/kv_service.h"
#include "etcdv3/status_service.h"
#include "kv/store.h"
#include "server/listen_url.h"
#include "server/version.h"
#include "watch/publisher.h"

namespace kvist::server {
namespace {

using Clock = std::chrono::steady_clock;

// etcd's bound on what is under way at the end.
constexpr std::chrono::seconds kShutdownGrace{7};

// What a message may be larger than the largest write, as in etcd.
constexpr std::size_t kMessageOverheadBytes = 512 * 1024;

constexpr std::chrono::milliseconds kProgressIntervalMin{100};

std::string Joined(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ",") + part;
  return joined;
}

// The addresses, which nobody else listens on: told before a store is opened, which may take long.
absl::StatusOr<std::vector<ListenAddress>> FreeAddresses(const std::vector<std::string>& urls) {
  std::vector<ListenAddress> addresses;
  for (const std::string& url : urls) {
    absl::StatusOr<ListenAddress> address = ParseListenUrl(url);
    if (!address.ok()) {
      return absl::InvalidArgumentError("--listen-client-urls " + std::string(address.status().message()));
    }
    if (absl::Status status = CheckCanListen(*address); !status.ok()) return status;
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

void LogStart(const ServeFlags& flags) {
  log::Info("starting kvist", {{"version", kVersion},
                               {"etcd-version", etcdv3::kEtcdVersion},
                               {"pid", getpid()},
                               {"name", flags.name},
                               {"data-dir", flags.data_dir},
                               {"listen-client-urls", Joined(flags.listen_client_urls)},
                               {"advertise-client-urls", Joined(flags.advertise_client_urls)},
                               {"max-txn-ops", flags.max_txn_ops},
                               {"max-request-bytes", flags.max_request_bytes},
                               {"unsafe-no-fsync", flags.unsafe_no_fsync}});
  if (flags.unsafe_no_fsync) {
    log::Warn("--unsafe-no-fsync is set: writes are answered before they are on disk; if the machine stops "
              "they are lost and the data may be destroyed");
  }
}

absl::StatusOr<std::unique_ptr<kv::Store>> OpenStore(const ServeFlags& flags) {
  const auto begin = Clock::now();
  auto store = kv::Store::Open({.directory = flags.data_dir, .sync = !flags.unsafe_no_fsync});
  if (!store.ok()) return store.status();
  const auto stats = (*store)->Stats();
  if (!stats.ok()) return stats.status();
  log::Info("opened the store", {{"data-dir", flags.data_dir},
                                 {"revision", (*store)->CurrentRevision()},
                                 {"compacted-revision", (*store)->CompactedRevision()},
                                 {"keys", stats->keys},
                                 {"file-bytes", stats->file_bytes},
                                 {"took", Clock::now() - begin}});
  return store;
}

void LogSlowCall(const etcdv3::SlowCall& call) {
  log::Warn("slow request", {{"method", call.method},
                             {"peer", call.peer},
                             {"took", call.took},
                             {"request-bytes", call.request_bytes},
                             {"reply-bytes", call.reply_bytes},
                             {"code", absl::StatusCodeToString(call.code)}});
}

// The services over a store, and the server in front of them.
class Stack {
 public:
  Stack(const ServeFlags& flags, kv::Store* store)
      : flags_(flags),
        store_(store),
        identity_(etcdv3::MakeIdentity({etcdv3::kDefaultPeerUrl}, etcdv3::kDefaultClusterToken,
                                       store->OpenCount())),
        publisher_(watch::Publisher::Create(store)),
        kv_(store, {.identity = identity_,
                    .txn_ops_max = flags.max_txn_ops,
                    .request_bytes_max = flags.max_request_bytes,
                    .lead = flags.unsafe_no_fsync ? kv::Lead::kCaller : kv::Lead::kWriterThread}),
        status_(store, {.identity = identity_,
                        .name = flags.name,
                        .peer_urls = {etcdv3::kDefaultPeerUrl},
                        .client_urls = flags.advertise_client_urls,
                        .storage_size = [store] { return StorageSize(store); }}) {}

  absl::Status Listen(const std::vector<ListenAddress>& addresses);

  void Shutdown() { server_->Shutdown(kShutdownGrace); }

 private:
  static absl::StatusOr<etcdv3::StorageSize> StorageSize(kv::Store* store) {
    const auto stats = store->Stats();
    if (!stats.ok()) return stats.status();
    return etcdv3::StorageSize{stats->file_bytes, stats->file_bytes_in_use};
  }

  const ServeFlags& flags_;
  kv::Store* const store_;
  const etcdv3::Identity identity_;
  const std::unique_ptr<watch::Publisher> publisher_;
  etcdv3::KvService kv_;
  etcdv3::StatusService status_;
  std::unique_ptr<etcdv3::GrpcServer> server_;
};

absl::Status Stack::Listen(const std::vector<ListenAddress>& addresses) {
  const std::size_t message_bytes_max = flags_.max_request_bytes + kMessageOverheadBytes;
  etcdv3::GrpcServerOptions options;
  options.message_bytes_max = message_bytes_max;
  options.slow_call = flags_.warning_unary_request_duration;
  options.report_slow_call = LogSlowCall;
  for (const ListenAddress& address : addresses) options.addresses.push_back(address.ForGrpc());
  const etcdv3::Services services = {.kv = &kv_,
                                     .status = &status_,
                                     .engine = store_,
                                     .publisher = publisher_.get(),
                                     .watch = {.identity = identity_,
                                               .progress_interval = flags_.watch_progress_notify_interval,
                                               .fragment_bytes = message_bytes_max},
                                     .range_chunk_bytes = flags_.max_request_bytes};
  auto server = etcdv3::GrpcServer::Start(services, options);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ServeUntilSignal(const ServeFlags& given, const sigset_t& signals) {
  const auto begin = Clock::now();
  ServeFlags flags = given;
  if (flags.advertise_client_urls.empty()) flags.advertise_client_urls = flags.listen_client_urls;
  if (flags.watch_progress_notify_interval < kProgressIntervalMin) {
    return absl::InvalidArgumentError("--watch-progress-notify-interval must be at least 100ms");
  }
  LogStart(flags);
  const auto addresses = FreeAddresses(flags.listen_client_urls);
  if (!addresses.ok()) return addresses.status();
  const auto store = OpenStore(flags);
  if (!store.ok()) return store.status();
  Stack stack(flags, store->get());
  if (absl::Status status = stack.Listen(*addresses); !status.ok()) return status;
  log::Info("ready to serve client requests",
            {{"addresses", Joined(flags.listen_client_urls)}, {"took", Clock::now() - begin}});

  int signal = 0;
  sigwait(&signals, &signal);
  log::Info("shutting down", {{"signal", strsignal(signal)}, {"grace", kShutdownGrace}});
  stack.Shutdown();
  return signal;
}

}  // namespace kvist::server
