#include "server/serve.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "etcdv3/grpc_server.h"
#include "etcdv3/identity.h"
#include "kv/store.h"
#include "server/listen_check.h"
#include "server/version.h"
#include "watch/publisher.h"

namespace kvist::server {
namespace {

// How long calls in flight may take to finish at a stop, as in etcd.
constexpr std::chrono::seconds kStopGrace{7};

// A message is larger than the request in it by what surrounds it, as in etcd.
constexpr std::size_t kMessageOverheadBytes = 512 * 1024;

std::string Join(const std::vector<std::string>& urls) { return absl::StrJoin(urls, ","); }

void LogStart(const ServeFlags& flags) {
  log::Info("starting kvist", {{"version", kKvistVersion},
                               {"pid", getpid()},
                               {"data-dir", flags.data_dir},
                               {"name", flags.name},
                               {"max-txn-ops", flags.max_txn_ops},
                               {"max-request-bytes", flags.max_request_bytes}});
  if (flags.unsafe_no_fsync) {
    log::Warn(
        "UNSAFE: --unsafe-no-fsync is set: writes are answered before they are on the disk, and a "
        "power cut or a crash of the machine loses or corrupts data");
  }
}

absl::StatusOr<std::unique_ptr<kv::Store>> OpenStore(const ServeFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  kv::StoreOptions options;
  options.directory = flags.data_dir;
  options.sync = !flags.unsafe_no_fsync;
  absl::StatusOr<std::unique_ptr<kv::Store>> store = kv::Store::Open(options);
  if (!store.ok()) return store;
  const absl::StatusOr<kv::StoreStats> stats = (*store)->Stats();
  if (!stats.ok()) return stats.status();
  log::Info("store opened", {{"revision", (*store)->CurrentRevision()},
                             {"compacted-revision", (*store)->CompactedRevision()},
                             {"keys", stats->keys},
                             {"bytes", stats->file_bytes},
                             {"took", std::chrono::steady_clock::now() - start}});
  return store;
}

etcdv3::StatusServiceOptions StatusOptions(const ServeFlags& flags, const etcdv3::Identity& identity,
                                           kv::Store* store) {
  etcdv3::StatusServiceOptions options;
  options.identity = identity;
  options.name = flags.name;
  options.peer_urls = {etcdv3::kDefaultPeerUrl};
  options.client_urls = flags.advertise_client_urls;
  options.storage_size = [store]() -> absl::StatusOr<etcdv3::StorageSize> {
    const absl::StatusOr<kv::StoreStats> stats = store->Stats();
    if (!stats.ok()) return stats.status();
    return etcdv3::StorageSize{stats->file_bytes, stats->file_bytes_in_use};
  };
  return options;
}

etcdv3::GrpcServerOptions FrontDoorOptions(const ServeFlags& flags) {
  etcdv3::GrpcServerOptions options;
  for (const ListenUrl& listen : flags.listen_client_urls) options.addresses.push_back(listen.address);
  options.message_bytes_max = flags.max_request_bytes + kMessageOverheadBytes;
  options.slow_call = flags.warning_unary_request_duration;
  options.report_slow_call = [](const etcdv3::SlowCall& call) {
    log::Warn("slow request", {{"method", call.method},
                               {"peer", call.peer},
                               {"took", call.took},
                               {"request-bytes", call.request_bytes},
                               {"reply-bytes", call.reply_bytes},
                               {"code", absl::StatusCodeToString(call.code)}});
  };
  return options;
}

}  // namespace

absl::Status Serve(const ServeFlags& flags, const std::function<void()>& wait_for_stop) {
  LogStart(flags);
  // Told before a store is opened, which may take long.
  for (const ListenUrl& url : flags.listen_client_urls) {
    if (absl::Status status = CheckCanListen(url); !status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<kv::Store>> opened = OpenStore(flags);
  if (!opened.ok()) return opened.status();
  kv::Store* const store = opened->get();
  const std::unique_ptr<watch::Publisher> publisher = watch::Publisher::Create(store);
  const etcdv3::Identity identity =
      etcdv3::MakeIdentity({etcdv3::kDefaultPeerUrl}, etcdv3::kDefaultClusterToken, store->OpenCount());
  etcdv3::KvServiceOptions kv_options;
  kv_options.identity = identity;
  kv_options.txn_ops_max = flags.max_txn_ops;
  kv_options.request_bytes_max = flags.max_request_bytes;
  kv_options.lead = flags.unsafe_no_fsync ? kv::Lead::kCaller : kv::Lead::kWriterThread;
  etcdv3::KvService kv_service(store, kv_options);
  etcdv3::StatusService status_service(store, StatusOptions(flags, identity, store));

  etcdv3::Services services;
  services.kv = &kv_service;
  services.status = &status_service;
  services.engine = store;
  services.publisher = publisher.get();
  services.watch.identity = identity;
  services.watch.progress_interval = flags.watch_progress_notify_interval;
  services.watch.fragment_bytes = flags.max_request_bytes + kMessageOverheadBytes;
  services.range_chunk_bytes = flags.max_request_bytes;
  absl::StatusOr<std::unique_ptr<etcdv3::GrpcServer>> front_door =
      etcdv3::GrpcServer::Start(services, FrontDoorOptions(flags));
  if (!front_door.ok()) return front_door.status();

  log::Info("ready to serve client requests", {{"client-urls", Join(flags.advertise_client_urls)}});
  wait_for_stop();
  log::Info("shutting down");
  (*front_door)->Shutdown(kStopGrace);
  log::Info("stopped", {{"revision", store->CurrentRevision()}});
  return absl::OkStatus();
}

}  // namespace kvist::server
