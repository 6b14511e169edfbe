#include "tests/oracle/history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);

}  // namespace

History::History(const Client& client) : stream_(client) {
  etcdserverpb::WatchCreateRequest create;
  create.set_key(std::string(1, '\0'));
  create.set_range_end(std::string(1, '\0'));
  create.set_start_revision(1);
  stream_.Create(create);
}

std::string History::Reach(std::int64_t revision) {
  // Revision 1 is that of the empty store and has no event.
  while (revision > 1 && (events_.empty() || events_.back().kv().mod_revision() < revision)) {
    std::optional<etcdserverpb::WatchResponse> response = stream_.Next(kPatience);
    if (!response) return absl::StrCat("a watch over all keys was not sent revision ", revision);
    if (response->canceled()) return "a watch over all keys was canceled: " + Describe(*response);
    const std::int64_t last = events_.empty() ? 1 : events_.back().kv().mod_revision();
    if (response->events_size() > 0 && response->events(0).kv().mod_revision() != last + 1) {
      return absl::StrCat("a watch over all keys was at revision ", last,
                          " and then got: ", Describe(*response));
    }
    for (mvccpb::Event& event : *response->mutable_events()) events_.push_back(std::move(event));
  }
  return "";
}

std::size_t History::IndexOf(std::int64_t revision) const {
  const auto at = std::lower_bound(
      events_.begin(), events_.end(), revision,
      [](const mvccpb::Event& event, std::int64_t wanted) { return event.kv().mod_revision() < wanted; });
  return static_cast<std::size_t>(at - events_.begin());
}

}  // namespace kvist::blackbox
