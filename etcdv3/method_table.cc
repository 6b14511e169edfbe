// See method_table.h.

#include "etcdv3/method_table.h"

#include <unordered_map>
#include <unordered_set>

#include "etcdv3/errors.h"
#include "etcdv3/range_stream.h"

namespace kvist::etcdv3 {
namespace {

using MethodMap = std::unordered_map<std::string_view, Method>;

template <void (KvService::*kMethod)(UnaryCall*)>
constexpr Method Kv() {
  return {.unary = [](const Services& services, UnaryCall* call) { (services.kv->*kMethod)(call); }};
}

template <absl::Status (StatusService::*kMethod)(std::string_view, ReplyBuffer*)>
constexpr Method Status() {
  return {.unary = [](const Services& services, UnaryCall* call) {
    call->Finish((services.status->*kMethod)(call->message(), call->reply()));
  }};
}

std::unique_ptr<StreamHandler> OpenWatch(const Services& services, StreamCall* call) {
  return std::make_unique<WatchHandler>(call, services.publisher, services.watch);
}

std::unique_ptr<StreamHandler> OpenRangeStream(const Services& services, StreamCall* call) {
  return std::make_unique<RangeStreamHandler>(call, services.engine, services.watch.identity,
                                              services.range_chunk_bytes);
}

std::unique_ptr<StreamHandler> OpenHealthWatch(const Services&, StreamCall* call) {
  return std::make_unique<HealthWatchHandler>(call);
}

const MethodMap& Served() {
  static const auto* map = new MethodMap{
      {"/etcdserverpb.KV/Range", Kv<&KvService::Range>()},
      {"/etcdserverpb.KV/Put", Kv<&KvService::Put>()},
      {"/etcdserverpb.KV/DeleteRange", Kv<&KvService::DeleteRange>()},
      {"/etcdserverpb.KV/Txn", Kv<&KvService::Txn>()},
      {"/etcdserverpb.KV/Compact", Kv<&KvService::Compact>()},
      {"/etcdserverpb.KV/RangeStream", {.stream = OpenRangeStream}},
      {"/etcdserverpb.Watch/Watch", {.stream = OpenWatch}},
      {"/etcdserverpb.Maintenance/Status", Status<&StatusService::Status>()},
      {"/etcdserverpb.Maintenance/Alarm", Status<&StatusService::Alarm>()},
      {"/etcdserverpb.Cluster/MemberList", Status<&StatusService::MemberList>()},
      {"/grpc.health.v1.Health/Check", Status<&StatusService::HealthCheck>()},
      {"/grpc.health.v1.Health/List", Status<&StatusService::HealthList>()},
      {"/grpc.health.v1.Health/Watch", {.stream = OpenHealthWatch}},
  };
  return *map;
}

// The rest of the API.
const std::unordered_set<std::string_view>& NotYetServed() {
  static const auto* set = new std::unordered_set<std::string_view>{
      "/etcdserverpb.Lease/LeaseGrant",
      "/etcdserverpb.Lease/LeaseRevoke",
      "/etcdserverpb.Lease/LeaseKeepAlive",
      "/etcdserverpb.Lease/LeaseTimeToLive",
      "/etcdserverpb.Lease/LeaseLeases",
      "/etcdserverpb.Cluster/MemberAdd",
      "/etcdserverpb.Cluster/MemberRemove",
      "/etcdserverpb.Cluster/MemberUpdate",
      "/etcdserverpb.Cluster/MemberPromote",
      "/etcdserverpb.Maintenance/Defragment",
      "/etcdserverpb.Maintenance/Hash",
      "/etcdserverpb.Maintenance/HashKV",
      "/etcdserverpb.Maintenance/Snapshot",
      "/etcdserverpb.Maintenance/MoveLeader",
      "/etcdserverpb.Maintenance/Downgrade",
      "/etcdserverpb.Auth/AuthEnable",
      "/etcdserverpb.Auth/AuthDisable",
      "/etcdserverpb.Auth/AuthStatus",
      "/etcdserverpb.Auth/Authenticate",
      "/etcdserverpb.Auth/UserAdd",
      "/etcdserverpb.Auth/UserGet",
      "/etcdserverpb.Auth/UserList",
      "/etcdserverpb.Auth/UserDelete",
      "/etcdserverpb.Auth/UserChangePassword",
      "/etcdserverpb.Auth/UserGrantRole",
      "/etcdserverpb.Auth/UserRevokeRole",
      "/etcdserverpb.Auth/RoleAdd",
      "/etcdserverpb.Auth/RoleGet",
      "/etcdserverpb.Auth/RoleList",
      "/etcdserverpb.Auth/RoleDelete",
      "/etcdserverpb.Auth/RoleGrantPermission",
      "/etcdserverpb.Auth/RoleRevokePermission",
      "/v3lockpb.Lock/Lock",
      "/v3lockpb.Lock/Unlock",
      "/v3electionpb.Election/Campaign",
      "/v3electionpb.Election/Proclaim",
      "/v3electionpb.Election/Leader",
      "/v3electionpb.Election/Observe",
      "/v3electionpb.Election/Resign",
  };
  return *set;
}

bool IsKnownService(std::string_view service) {
  static const auto* set = [] {
    auto* services = new std::unordered_set<std::string_view>;
    for (const auto& [path, method] : Served()) services->insert(SplitMethodPath(path).service);
    for (const std::string_view path : NotYetServed()) services->insert(SplitMethodPath(path).service);
    return services;
  }();
  return set->contains(service);
}

}  // namespace

const Method* FindMethod(std::string_view path) {
  const auto it = Served().find(path);
  return it == Served().end() ? nullptr : &it->second;
}

absl::Status WhyNotServed(std::string_view path) {
  if (NotYetServed().contains(path)) return NotYetImplementedError(path);
  if (IsKnownService(SplitMethodPath(path).service)) return UnknownMethodError(path);
  return UnknownServiceError(path);
}

}  // namespace kvist::etcdv3
