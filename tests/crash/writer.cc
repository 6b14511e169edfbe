#include "tests/crash/writer.h"

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {
namespace {

// Rare enough that much history is left to look at, often enough to be hit by the kill now and then.
constexpr int kCompactOnceIn = 400;
constexpr std::int64_t kRevisionsKept = 300;  // at most

}  // namespace

Attempt Writer::NextAttempt() {
  Attempt attempt;
  attempt.id = absl::StrCat(name_, ".", attempts_.size());
  const std::int64_t dice = random_.Below(100);
  if (dice < 40) {
    attempt.puts.push_back(absl::StrCat("own/", attempt.id));
  } else if (dice < 55 && !own_keys_.empty()) {
    attempt.delete_prefix = own_keys_.back();
    own_keys_.pop_back();
  } else if (dice < 90) {
    const std::string group = absl::StrCat("group/", 10 + random_.Below(kGroups), "/");
    for (int i = 0; i < kKeysOfAGroup; ++i) attempt.puts.push_back(absl::StrCat(group, i));
  } else {
    attempt.puts.push_back("deletes/" + name_);
    attempt.delete_prefix = absl::StrCat("group/", 10 + random_.Below(kGroups), "/");
  }
  return attempt;
}

grpc::Status Writer::Send(const Attempt& attempt, std::int64_t* revision) const {
  Call call;
  grpc::Status status;
  etcdserverpb::TxnRequest txn;
  for (const std::string& key : attempt.puts) {
    etcdserverpb::PutRequest* put = txn.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value(attempt.id);
  }
  if (!attempt.delete_prefix.empty()) {
    etcdserverpb::DeleteRangeRequest* erase = txn.add_success()->mutable_request_delete_range();
    erase->set_key(attempt.delete_prefix);
    if (!attempt.puts.empty()) erase->set_range_end(PrefixEnd(attempt.delete_prefix));
  }
  if (txn.success_size() > 1) {
    etcdserverpb::TxnResponse response;
    status = client_.kv->Txn(&call, txn, &response);
    *revision = response.header().revision();
  } else if (attempt.puts.empty()) {
    etcdserverpb::DeleteRangeResponse response;
    status = client_.kv->DeleteRange(&call, txn.success(0).request_delete_range(), &response);
    *revision = response.header().revision();
  } else {
    etcdserverpb::PutResponse response;
    status = client_.kv->Put(&call, txn.success(0).request_put(), &response);
    *revision = response.header().revision();
  }
  return status;
}

grpc::Status Writer::Compact() {
  Call call;
  etcdserverpb::CompactionRequest request;
  request.set_revision(known_ - random_.Below(kRevisionsKept));
  request.set_physical(random_.Percent(30));
  compactions_.push_back(request.revision());
  etcdserverpb::CompactionResponse response;
  grpc::Status status = client_.kv->Compact(&call, request, &response);
  if (status.ok()) compacted_ = request.revision();
  // Another writer has compacted further.
  if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE) return grpc::Status::OK;
  return status;
}

void Writer::Run() {
  while (true) {
    grpc::Status status;
    if (known_ > kRevisionsKept && random_.Below(kCompactOnceIn) == 0) {
      status = Compact();
    } else {
      attempts_.push_back(NextAttempt());
      Attempt& attempt = attempts_.back();
      std::int64_t revision = 0;
      status = Send(attempt, &revision);
      if (status.ok()) {
        if (revision <= last_revision_)
          fault_ = absl::StrCat("revision ", revision, " after ", last_revision_);
        attempt.revision = last_revision_ = revision;
        if (attempt.delete_prefix.empty() && attempt.puts.size() == 1) own_keys_.push_back(attempt.puts[0]);
      }
    }
    if (status.ok()) continue;
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) fault_ = "a write failed: " + Describe(status);
    return;
  }
}

}  // namespace kvist::blackbox
