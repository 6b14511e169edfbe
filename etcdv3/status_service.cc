// See status_service.h. The field numbers are those of etcdserverpb's rpc.proto and of health.proto.

#include "etcdv3/status_service.h"

#include "etcdv3/convert.h"
#include "etcdv3/errors.h"
#include "etcdv3/wire.h"

namespace kvist::etcdv3 {
namespace {

// etcd's default, which is all there is as long as no quota is enforced.
constexpr std::uint64_t kDbSizeQuota = std::uint64_t{2} << 30;

enum class Serving : std::uint64_t { kServing = 1, kServiceUnknown = 3 };

std::uint64_t Unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Reads a HealthCheckRequest's `service`. False if malformed.
bool ReadServiceName(std::string_view message, std::string_view* name) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == WireType::kBytes) *name = field.bytes;
  }
  return reader.ok();
}

void AppendServing(Serving serving, ReplyBuffer* reply) {
  AppendVarintField(1, static_cast<std::uint64_t>(serving), &reply->body());
}

}  // namespace

absl::Status StatusService::Status(std::string_view message, ReplyBuffer* reply) {
  if (!IsMessage(message)) return MalformedRequestError();
  const absl::StatusOr<StorageSize> size = options_.storage_size();
  if (!size.ok()) return FromEngine(size.status());
  const kv::Revision revision = engine_->CurrentRevision();
  std::string* out = &reply->body();
  AppendBytesField(2, kEtcdVersion, out);
  AppendVarintField(3, Unsigned(size->bytes), out);
  AppendVarintField(4, options_.identity.member_id, out);  // leader
  AppendVarintField(5, Unsigned(revision), out);           // raftIndex
  AppendVarintField(6, options_.identity.raft_term, out);
  AppendVarintField(7, Unsigned(revision), out);  // raftAppliedIndex
  AppendVarintField(9, Unsigned(size->bytes_in_use), out);
  AppendBytesField(11, kStorageVersion, out);
  AppendVarintField(12, kDbSizeQuota, out);
  AppendBytesField(13, {}, out);  // downgradeInfo: not enabled
  reply->SetHeader(options_.identity, revision);
  return absl::OkStatus();
}

absl::Status StatusService::Alarm(std::string_view message, ReplyBuffer* reply) {
  AlarmAction action = AlarmAction::kGet;
  if (!DecodeAlarmAction(message, &action)) return MalformedRequestError();
  if (action == AlarmAction::kActivate) {
    return absl::UnimplementedError("raising an alarm is not implemented by this version of kvist");
  }
  reply->SetHeader(options_.identity, engine_->CurrentRevision());
  return absl::OkStatus();
}

absl::Status StatusService::MemberList(std::string_view message, ReplyBuffer* reply) {
  if (!IsMessage(message)) return MalformedRequestError();
  std::string member;
  AppendVarintField(1, options_.identity.member_id, &member);
  AppendBytesField(2, options_.name, &member);
  for (const std::string& url : options_.peer_urls) AppendBytesField(3, url, &member);
  for (const std::string& url : options_.client_urls) AppendBytesField(4, url, &member);
  AppendBytesField(2, member, &reply->body());
  reply->SetHeader(options_.identity, /*revision=*/0);  // etcd leaves it out in replies about members
  return absl::OkStatus();
}

absl::Status StatusService::HealthCheck(std::string_view message, ReplyBuffer* reply) {
  std::string_view name;
  if (!ReadServiceName(message, &name)) return MalformedRequestError();
  if (!name.empty()) return absl::NotFoundError("unknown service");
  AppendServing(Serving::kServing, reply);
  return absl::OkStatus();
}

absl::Status StatusService::HealthList(std::string_view message, ReplyBuffer* reply) {
  if (!IsMessage(message)) return MalformedRequestError();
  std::string status;
  AppendVarintField(1, static_cast<std::uint64_t>(Serving::kServing), &status);
  std::string entry;  // of map<string, HealthCheckResponse>; the key "" is left out
  AppendBytesField(2, status, &entry);
  AppendBytesField(1, entry, &reply->body());
  return absl::OkStatus();
}

void HealthWatchHandler::OnMessage(std::string_view message) {
  std::string_view name;
  if (!ReadServiceName(message, &name)) return call_->Finish(MalformedMessageError());
  AppendServing(name.empty() ? Serving::kServing : Serving::kServiceUnknown, call_->reply());
  call_->Send({}, /*more=*/false);
}

void HealthWatchHandler::OnHalfClose() { call_->Finish(MissingMessageError()); }

}  // namespace kvist::etcdv3
