#include "tests/crash/chronicle.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/client.h"

namespace kvist::blackbox {
namespace {

// One line for an event, which holds all that must be right about it.
std::string Line(const mvccpb::Event& event) {
  const bool is_put = event.type() == mvccpb::Event::PUT;
  return absl::StrCat(is_put ? "put " : "delete ", event.kv().key(), is_put ? " = " : "", event.kv().value());
}

std::string Lines(const Moment& moment) {
  std::string text;
  for (const mvccpb::Event& event : moment) absl::StrAppend(&text, "[", Line(event), "] ");
  return text;
}

bool Same(const Moment& left, const Moment& right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].type() != right[i].type()) return false;
    if (left[i].kv().SerializeAsString() != right[i].kv().SerializeAsString()) return false;
  }
  return true;
}

}  // namespace

std::vector<Moment> SplitByRevision(const std::vector<mvccpb::Event>& events, std::int64_t first,
                                    std::string* fault) {
  std::vector<Moment> moments;
  for (const mvccpb::Event& event : events) {
    const std::int64_t last = first + std::ssize(moments) - 1;
    const std::int64_t revision = event.kv().mod_revision();
    if (revision == last + 1) {
      moments.emplace_back();
    } else if (revision != last || moments.empty()) {
      *fault = absl::StrCat("revision ", revision, " follows ", last);
      return moments;
    }
    moments.back().push_back(event);
  }
  return moments;
}

void Chronicle::AddAttempts(std::vector<Attempt> attempts) {
  attempts_.clear();
  happened_.clear();
  for (Attempt& attempt : attempts) {
    std::string id = attempt.id;
    attempts_.emplace(std::move(id), std::move(attempt));
  }
}

const Moment& Chronicle::At(std::int64_t revision) const {
  return moments_.at(static_cast<std::size_t>(revision - first_));
}

std::string Chronicle::Learn(std::int64_t first, const std::vector<Moment>& moments) {
  const std::int64_t last = first + std::ssize(moments) - 1;
  if (last < last_revision()) {
    return absl::StrCat("history ends at ", last, ", but revision ", last_revision(), " had been seen");
  }
  if (first > last_revision() + 1) return absl::StrCat("nothing is known of what led to revision ", first);
  for (std::int64_t revision = first; revision <= last; ++revision) {
    const Moment& moment = moments[static_cast<std::size_t>(revision - first)];
    if (revision <= last_revision()) {
      if (revision < first_ || Same(moment, At(revision))) continue;
      return absl::StrCat("revision ", revision, " was ", Lines(At(revision)), "and is ", Lines(moment));
    }
    std::string fault = LearnOne(revision, moment);
    if (!fault.empty()) return fault;
  }
  return "";
}

// The attempt that a moment must come from: that whose id it puts, or which deletes the key it deletes.
const Attempt* Chronicle::Author(const Moment& moment) const {
  const mvccpb::Event& event = moment.front();
  if (event.type() == mvccpb::Event::PUT) {
    const auto found = attempts_.find(event.kv().value());
    return found == attempts_.end() ? nullptr : &found->second;
  }
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.puts.empty() && attempt.delete_prefix == event.kv().key()) return &attempt;
  }
  return nullptr;
}

std::vector<std::string> Chronicle::Expected(const Attempt& attempt) const {
  std::vector<std::string> lines;
  for (const std::string& key : attempt.puts) lines.push_back(absl::StrCat("put ", key, " = ", attempt.id));
  if (attempt.delete_prefix.empty()) return lines;
  for (auto it = state_.lower_bound(attempt.delete_prefix); it != state_.end(); ++it) {
    if (!absl::StartsWith(it->first, attempt.delete_prefix)) break;
    lines.push_back(absl::StrCat("delete ", it->first));
  }
  return lines;
}

std::string Chronicle::LearnOne(std::int64_t revision, const Moment& moment) {
  const Attempt* author = Author(moment);
  if (author == nullptr) return absl::StrCat("revision ", revision, " nobody wrote: ", Lines(moment));
  if (!happened_.emplace(author->id, revision).second) {
    return absl::StrCat(author->id, " happened at ", happened_[author->id], " and at ", revision);
  }
  if (author->revision != 0 && author->revision != revision) {
    return absl::StrCat(author->id, " was acknowledged at ", author->revision, " and happened at ", revision);
  }
  std::vector<std::string> lines;
  for (const mvccpb::Event& event : moment) lines.push_back(Line(event));
  if (lines != Expected(*author)) {
    return absl::StrCat("revision ", revision, " is only a part of ", author->id,
                        ", or more: ", Lines(moment));
  }
  for (const mvccpb::Event& event : moment) {
    if (event.type() == mvccpb::Event::PUT) {
      state_[event.kv().key()] = event.kv().value();
    } else {
      state_.erase(event.kv().key());
    }
  }
  moments_.push_back(moment);
  return "";
}

std::string Chronicle::CheckAcknowledged() const {
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.revision != 0 && !happened_.contains(id)) {
      return absl::StrCat(id, " was acknowledged at ", attempt.revision, " and is lost");
    }
  }
  return "";
}

void Chronicle::Forget(std::int64_t revision) {
  for (; first_ < revision && !moments_.empty(); ++first_) moments_.pop_front();
}

}  // namespace kvist::blackbox
