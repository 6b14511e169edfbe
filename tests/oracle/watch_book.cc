#include "tests/oracle/watch_book.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {
namespace {

using etcdserverpb::WatchCreateRequest;
using etcdserverpb::WatchResponse;
using std::chrono::milliseconds;

constexpr milliseconds kPatience(4000);
// How long to wait for the answer to a progress request before asking again.
constexpr milliseconds kProgressPatience(20);
// In this time an etcd has caught a watch up for certain (it looks each 100 ms).
constexpr milliseconds kCatchUpTime(300);
constexpr std::size_t kMaxWatches = 8;

bool Wants(const WatchCreateRequest& request, const mvccpb::Event& event) {
  for (const int filter : request.filters()) {
    if (filter == WatchCreateRequest::NOPUT && event.type() == mvccpb::Event::PUT) return false;
    if (filter == WatchCreateRequest::NODELETE && event.type() == mvccpb::Event::DELETE) return false;
  }
  // An empty key stands for the smallest there is.
  const std::string key = request.key().empty() ? std::string(1, '\0') : request.key();
  return InRange(event.kv().key(), key, request.range_end());
}

bool IsProgress(const WatchResponse& response) {
  return !response.created() && !response.canceled() && response.events_size() == 0;
}

}  // namespace

WatchBook::WatchBook(const Client& client, const Dialect& dialect) : dialect_(dialect), history_(client) {
  for (int i = 0; i < kWatchStreams; ++i) streams_.push_back(std::make_unique<Stream>(client));
}

template <typename Done>
bool WatchBook::Await(Stream* stream, milliseconds patience, Reply* reply, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    std::optional<WatchResponse> response = stream->wire.Next(deadline - std::chrono::steady_clock::now());
    if (!response) return false;
    Handle(stream, *std::move(response), reply);
  }
  return true;
}

void WatchBook::Drain(Stream* stream, Reply* reply) {
  while (std::optional<WatchResponse> response = stream->wire.Next(milliseconds(0))) {
    Handle(stream, *std::move(response), reply);
  }
}

void WatchBook::Handle(Stream* stream, WatchResponse response, Reply* reply) {
  if (response.created()) {
    if (stream->created) reply->faults.push_back("created twice: " + Describe(response));
    stream->created = std::move(response);
  } else if (response.canceled()) {
    const auto found = stream->watches.find(response.watch_id());
    if (found == stream->watches.end()) {
      reply->faults.push_back("canceled, but not there: " + Describe(response));
    } else {
      found->second.canceled = std::move(response);
    }
  } else if (IsProgress(response)) {
    if (response.watch_id() != -1 || stream->progress_allowed == 0) {
      reply->faults.push_back("progress nobody asked for: " + Describe(response));
    }
    --stream->progress_allowed;
    stream->progress = std::move(response);
  } else {
    HandleEvents(stream, std::move(response), reply);
  }
}

void WatchBook::HandleEvents(Stream* stream, WatchResponse response, Reply* reply) {
  const auto found = stream->watches.find(response.watch_id());
  if (found == stream->watches.end()) {
    reply->faults.push_back("events for a watch that is not there: " + Describe(response));
    return;
  }
  Watch& watch = found->second;
  const std::int64_t first = response.events(0).kv().mod_revision();
  const std::int64_t last = response.events(response.events_size() - 1).kv().mod_revision();
  if (first <= watch.last_revision) {
    reply->faults.push_back("a revision again, or in two responses: " + Describe(response));
  }
  if (response.header().revision() < last) {
    reply->faults.push_back("header behind the events: " + Describe(response));
  }
  watch.last_revision = last;
  for (mvccpb::Event& event : *response.mutable_events()) watch.events.push_back(std::move(event));
}

void WatchBook::Play(const WatchStep& step, const Progress& progress, Reply* reply) {
  Stream* stream = streams_[static_cast<std::size_t>(step.stream)].get();
  switch (step.request.request_union_case()) {
    case etcdserverpb::WatchRequest::kCreateRequest: {
      WatchCreateRequest create = step.request.create_request();
      AdjustStart(step.stream == 0, progress, &create);
      if (stream->watches.size() < kMaxWatches) Create(stream, std::move(create), progress, reply);
      break;
    }
    case etcdserverpb::WatchRequest::kCancelRequest:
      Settle(progress, reply);
      Cancel(stream, step.request.cancel_request().watch_id(), reply);
      break;
    case etcdserverpb::WatchRequest::kProgressRequest:
      Settle(progress, reply);
      RequestProgress(stream, progress, reply);
      break;
    case etcdserverpb::WatchRequest::REQUEST_UNION_NOT_SET:
      stream->wire.Send(step.request);
      break;
  }
}

// Keeps to WatchStep's rule of which stream has watches in the future, and to the dialect.
void WatchBook::AdjustStart(bool is_future_stream, const Progress& progress,
                            WatchCreateRequest* create) const {
  const std::int64_t start = create->start_revision();
  if (is_future_stream && start > 0 && start <= progress.current) {
    create->set_start_revision(progress.current + 1);
  }
  if (!is_future_stream && start > progress.current) create->set_start_revision(0);
  if (!dialect_.checks_watch_start && start < 0) create->set_start_revision(1);
  if (!dialect_.keeps_tombstone_at_compaction && create->start_revision() == progress.compacted) {
    create->set_start_revision(0);
  }
}

void WatchBook::Create(Stream* stream, WatchCreateRequest create, const Progress& progress, Reply* reply) {
  stream->created.reset();
  // The history must reach as far as the watch starts, to know what is due from there.
  const std::string fault = history_.Reach(progress.current);
  if (!fault.empty()) reply->faults.push_back(fault);
  stream->wire.Create(create);
  if (!Await(stream, kPatience, reply, [&] { return stream->created.has_value(); })) {
    reply->faults.emplace_back("no answer to a watch create request");
    return;
  }
  if (!stream->created->canceled()) {
    Watch watch;
    const std::int64_t start = create.start_revision() == 0 ? progress.current + 1 : create.start_revision();
    watch.next_due = history_.IndexOf(start);
    watch.may_lag = start <= progress.current;
    watch.below_compaction = start < progress.compacted;
    watch.request = std::move(create);
    watch.created_at = std::chrono::steady_clock::now();
    const bool is_new = stream->watches.emplace(stream->created->watch_id(), std::move(watch)).second;
    if (!is_new) reply->faults.push_back("watch id given out twice: " + Describe(*stream->created));
  }
  reply->Add("created", *stream->created);
}

void WatchBook::Cancel(Stream* stream, std::int64_t id, Reply* reply) {
  etcdserverpb::WatchRequest request;
  request.mutable_cancel_request()->set_watch_id(id);
  stream->wire.Send(request);
  const auto found = stream->watches.find(id);
  if (found == stream->watches.end()) return;  // an answer would be noticed later, as one to nothing
  if (!Await(stream, kPatience, reply, [&] { return found->second.canceled.has_value(); })) {
    reply->faults.emplace_back("no answer to a watch cancel request");
    stream->watches.erase(found);  // one fault is enough
    return;
  }
  reply->Add("canceled", *found->second.canceled);
  stream->watches.erase(found);
}

void WatchBook::RequestProgress(Stream* stream, const Progress& progress, Reply* reply) {
  bool all_started = true;
  for (const auto& [id, watch] : stream->watches) {
    all_started &= watch.request.start_revision() <= progress.current;
  }
  if (stream->watches.empty() || !all_started) {
    etcdserverpb::WatchRequest request;
    request.mutable_progress_request();
    stream->wire.Send(request);  // to be left unanswered
    return;
  }
  for (auto& [id, watch] : stream->watches) watch.may_lag = true;
  CatchUp(stream, progress, reply);
  if (stream->progress) reply->Add("progress", *stream->progress);
}

void WatchBook::Settle(const Progress& progress, Reply* reply) {
  const std::string fault = history_.Reach(progress.current);
  if (!fault.empty()) reply->faults.push_back(fault);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const std::string where = absl::StrCat("stream ", i, " watch ");
    Drain(streams_[i].get(), reply);
    CollectCanceled(streams_[i].get(), where, reply);
    CatchUp(streams_[i].get(), progress, reply);
    CollectEvents(streams_[i].get(), where, reply);
  }
}

// A watch that started below the compacted revision is told so, and sends nothing more. Its id stays taken,
// and no progress is told on the stream, until the client cancels it too, as etcd's client library does.
void WatchBook::CollectCanceled(Stream* stream, const std::string& where, Reply* reply) {
  std::vector<std::int64_t> ended;
  for (auto& [id, watch] : stream->watches) {
    if (watch.canceled && !watch.below_compaction) {
      reply->faults.push_back("canceled without being asked: " + Describe(*watch.canceled));
    }
    if (!watch.below_compaction) continue;
    ended.push_back(id);
    if (!Await(stream, kPatience, reply, [&watch = watch] { return watch.canceled.has_value(); })) {
      reply->faults.push_back(absl::StrCat(where, id, " starts in what is compacted, and was not canceled"));
      continue;
    }
    reply->Add(absl::StrCat(where, id, " ended by compaction"), *watch.canceled);
    watch.canceled.reset();
  }
  for (const std::int64_t id : ended) Cancel(stream, id, reply);
}

// Waits until the server itself has no watch of the stream left to catch up: with no events to come, only
// the answer to a progress request tells.
void WatchBook::CatchUp(Stream* stream, const Progress& progress, Reply* reply) {
  bool lags = false;
  for (auto& [id, watch] : stream->watches) {
    if (!watch.may_lag) continue;
    lags = true;
    watch.may_lag = false;
    if (!dialect_.progress_is_a_barrier) std::this_thread::sleep_until(watch.created_at + kCatchUpTime);
  }
  if (!lags || !dialect_.progress_is_a_barrier) return;
  etcdserverpb::WatchRequest request;
  request.mutable_progress_request();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  stream->progress.reset();
  while (!stream->progress && std::chrono::steady_clock::now() < deadline) {
    stream->wire.Send(request);
    ++stream->progress_allowed;
    Await(stream, kProgressPatience, reply, [&] { return stream->progress.has_value(); });
  }
  if (!stream->progress) {
    reply->faults.emplace_back("no answer to a progress request");
  } else if (stream->progress->header().revision() != progress.current) {
    reply->faults.push_back(absl::StrCat("progress at ", stream->progress->header().revision(),
                                         " when the current revision is ", progress.current));
  }
}

std::vector<mvccpb::Event> WatchBook::TakeDue(Watch* watch) const {
  std::vector<mvccpb::Event> due;
  for (; watch->next_due < history_.events().size(); ++watch->next_due) {
    const mvccpb::Event& event = history_.events()[watch->next_due];
    if (event.kv().mod_revision() < watch->request.start_revision()) continue;
    if (Wants(watch->request, event)) due.push_back(event);
  }
  return due;
}

void WatchBook::CollectEvents(Stream* stream, const std::string& where, Reply* reply) {
  for (auto& [id, watch] : stream->watches) {
    const std::vector<mvccpb::Event> due = TakeDue(&watch);
    Await(stream, kPatience, reply, [&watch = watch, &due] { return watch.events.size() >= due.size(); });
    const bool all_due =
        std::equal(watch.events.begin(), watch.events.end(), due.begin(), due.end(),
                   [](const mvccpb::Event& came, const mvccpb::Event& expected) {
                     return came.type() == expected.type() &&
                            came.kv().SerializeAsString() == expected.kv().SerializeAsString();
                   });
    WatchResponse all;
    for (mvccpb::Event& event : watch.events) *all.add_events() = std::move(event);
    watch.events.clear();
    if (all.events_size() > 0) reply->Add(absl::StrCat(where, id), all);
    if (all_due) continue;
    WatchResponse expected;
    for (const mvccpb::Event& event : due) *expected.add_events() = event;
    reply->faults.push_back(absl::StrCat(where, id, " should have been sent: ", Describe(expected)));
  }
}

}  // namespace kvist::blackbox
