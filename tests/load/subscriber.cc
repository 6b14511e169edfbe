#include "tests/load/subscriber.h"

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {

Subscriber::Subscriber(const Client& client, const std::vector<std::pair<std::string, std::string>>& ranges)
    : stream_(client.watch->Watch(&context_)) {
  std::int64_t id = 0;
  for (const auto& [key, range_end] : ranges) {
    etcdserverpb::WatchRequest request;
    etcdserverpb::WatchCreateRequest* create = request.mutable_create_request();
    create->set_key(key);
    create->set_range_end(range_end);
    create->set_watch_id(++id);
    {
      MutexLock lock(&mu_);
      watches_[id] = {key, range_end, {}};
    }
    stream_->Write(request);
  }
  reader_ = std::thread([this] { ReadAll(); });
  MutexLock lock(&mu_);
  while (created_ < ranges.size() && fault_.empty()) changed_.Wait(&mu_);
}

Subscriber::~Subscriber() {
  context_.TryCancel();
  reader_.join();
  stream_->Finish();
}

void Subscriber::ReadAll() {
  etcdserverpb::WatchResponse response;
  while (stream_->Read(&response)) {
    MutexLock lock(&mu_);
    Take(response);
    changed_.Signal();
  }
  MutexLock lock(&mu_);
  if (fault_.empty()) fault_ = "the stream ended";
  changed_.Signal();
}

void Subscriber::Take(const etcdserverpb::WatchResponse& response) {
  const auto found = watches_.find(response.watch_id());
  if (response.created()) ++created_;
  if (found == watches_.end() || response.canceled()) {
    fault_ = "not asked for: " + Describe(response);
    return;
  }
  for (const mvccpb::Event& event : response.events()) {
    const mvccpb::KeyValue& kv = event.kv();
    std::int64_t& version = found->second.versions[kv.key()];
    if (kv.version() != version + 1 && fault_.empty()) {
      fault_ = absl::StrCat("watch of ", found->second.key, ": version ", kv.version(), " of ", kv.key(),
                            " after ", version);
    }
    if (!InRange(kv.key(), found->second.key, found->second.range_end)) {
      fault_ = absl::StrCat("watch of ", found->second.key, " was told of ", kv.key());
    }
    version = kv.version();
    ++events_;
  }
}

std::string Subscriber::Behind(const std::map<std::string, std::int64_t>& versions) {
  for (const auto& [key, version] : versions) {
    for (auto& [id, watch] : watches_) {
      if (!InRange(key, watch.key, watch.range_end) || watch.versions[key] == version) continue;
      return absl::StrCat("watch of ", watch.key, ": ", key, " is at version ", version,
                          " and was told up to ", watch.versions[key]);
    }
  }
  return "";
}

std::string Subscriber::AwaitVersions(const std::map<std::string, std::int64_t>& versions,
                                      std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  MutexLock lock(&mu_);
  std::string behind = Behind(versions);
  while (!behind.empty() && fault_.empty() && std::chrono::steady_clock::now() < deadline) {
    changed_.WaitFor(&mu_, std::chrono::milliseconds(100));
    behind = Behind(versions);
  }
  return fault_.empty() ? behind : fault_;
}

std::int64_t Subscriber::events() {
  MutexLock lock(&mu_);
  return events_;
}

}  // namespace kvist::blackbox
