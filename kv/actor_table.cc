#include "kv/actor_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kvist::kv {
namespace {

std::string StateName(std::size_t number) {
  return absl::StrCat(absl::string_view(kActorStatePrefix.data(), kActorStatePrefix.size()), number);
}

}  // namespace

absl::Status ActorTable::Load(const RevisionLog::Snapshot& snapshot) {
  MutexLock lock(&mu_);
  bool malformed = false;
  const auto load = [&](std::string_view state, std::string_view name) REQUIRES(mu_) {
    state.remove_prefix(kActorStatePrefix.size());
    std::uint32_t number = 0;
    if (!absl::SimpleAtoi(absl::string_view(state.data(), state.size()), &number) || number == 0) {
      malformed = true;
      return;
    }
    names_.resize(std::max<std::size_t>(names_.size(), number));
    names_[number - 1] = std::string(name);
    numbers_[std::string(name)] = number;
  };
  absl::Status status = snapshot.ScanState(kActorStatePrefix, load);
  saved_ = names_.size();
  if (status.ok() && malformed) status = absl::DataLossError("storage: an actor's number is malformed");
  return status;
}

std::uint32_t ActorTable::Number(std::string_view name) {
  if (name.empty()) return 0;
  const auto found = numbers_.find(absl::string_view(name.data(), name.size()));
  if (found != numbers_.end()) return found->second;
  MutexLock lock(&mu_);
  names_.emplace_back(name);
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(name, number);
  return number;
}

absl::Status ActorTable::Save(RevisionLog::Batch* batch) const {
  if (saved_ == numbers_.size()) return absl::OkStatus();
  MutexLock lock(&mu_);
  for (std::size_t i = saved_; i < names_.size(); ++i) {
    if (absl::Status status = batch->PutState(StateName(i + 1), names_[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void ActorTable::Saved() { saved_ = numbers_.size(); }

std::string ActorTable::Name(std::uint32_t number) const {
  MutexLock lock(&mu_);
  return number == 0 || number > names_.size() ? std::string() : names_[number - 1];
}

}  // namespace kvist::kv
