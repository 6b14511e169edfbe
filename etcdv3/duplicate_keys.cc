// See duplicate_keys.h.

#include "etcdv3/duplicate_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"

namespace kvist::etcdv3 {
namespace {

// A set of keys made of half-open intervals. Intervals that touch are kept as one.
class KeyIntervals {
 public:
  void Add(const kv::DeleteRangeRequest& request) {
    std::string begin(request.key);
    if (request.range_end.empty()) {
      std::string end = begin + '\0';
      Add(std::move(begin), std::move(end));
    } else {
      Add(std::move(begin), std::string(request.range_end));
    }
  }

  void Add(std::string begin, std::string end) {
    if (end <= begin) return;
    auto it = ends_.upper_bound(begin);
    if (it != ends_.begin() && std::prev(it)->second >= begin) {
      --it;
      begin = it->first;
    }
    while (it != ends_.end() && it->first <= end) {
      end = std::max(end, it->second);
      it = ends_.erase(it);
    }
    ends_.emplace(std::move(begin), std::move(end));
  }

  void Add(const KeyIntervals& other) {
    for (const auto& [begin, end] : other.ends_) Add(begin, end);
  }

  [[nodiscard]] bool Contains(std::string_view key) const {
    auto it = ends_.upper_bound(key);
    return it != ends_.begin() && key < std::prev(it)->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> ends_;  // begin -> end, disjoint
};

// What a branch, with all that is nested in it, puts and deletes.
struct Touched {
  std::set<std::string_view> puts;
  KeyIntervals deletes;
};

bool GatherBranch(const std::vector<kv::Op>& branch, Touched* touched);

// Rule 2 of the header, for one nested Txn. False on a clash.
bool GatherNested(const kv::TxnRequest& txn, Touched* touched) {
  Touched then_branch;
  Touched else_branch;
  if (!GatherBranch(txn.success, &then_branch) || !GatherBranch(txn.failure, &else_branch)) return false;
  for (const std::string_view key : then_branch.puts) {
    if (touched->deletes.Contains(key) || !touched->puts.insert(key).second) return false;
  }
  for (const std::string_view key : else_branch.puts) {
    if (touched->deletes.Contains(key)) return false;
    if (!touched->puts.insert(key).second && !then_branch.puts.contains(key)) return false;
  }
  touched->deletes.Add(then_branch.deletes);
  touched->deletes.Add(else_branch.deletes);
  return true;
}

bool GatherBranch(const std::vector<kv::Op>& branch, Touched* touched) {
  for (const kv::Op& op : branch) {
    if (const auto* remove = std::get_if<kv::DeleteRangeRequest>(&op.request)) touched->deletes.Add(*remove);
  }
  for (const kv::Op& op : branch) {
    const auto* txn = std::get_if<kv::TxnRequest>(&op.request);
    if (txn != nullptr && !GatherNested(*txn, touched)) return false;
  }
  for (const kv::Op& op : branch) {
    const auto* put = std::get_if<kv::PutRequest>(&op.request);
    if (put == nullptr) continue;
    if (touched->deletes.Contains(put->key) || !touched->puts.insert(put->key).second) return false;
  }
  return true;
}

// The same for a branch of puts and reads alone, which is what nearly all are.
bool PutsClash(const std::vector<kv::Op>& branch) {
  absl::InlinedVector<std::string_view, 32> keys;
  for (const kv::Op& op : branch) {
    if (const auto* put = std::get_if<kv::PutRequest>(&op.request)) keys.push_back(put->key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

bool IsPutOrRead(const kv::Op& op) {
  return std::holds_alternative<kv::PutRequest>(op.request) ||
         std::holds_alternative<kv::RangeRequest>(op.request);
}

bool IsWrite(const kv::Op& op) {
  return std::holds_alternative<kv::PutRequest>(op.request) ||
         std::holds_alternative<kv::DeleteRangeRequest>(op.request);
}

}  // namespace

bool HasDuplicateKeys(const std::vector<kv::Op>& branch) {
  if (branch.size() == 1 && IsWrite(branch.front())) return false;
  if (std::all_of(branch.begin(), branch.end(), IsPutOrRead)) return PutsClash(branch);
  Touched touched;
  return !GatherBranch(branch, &touched);
}

}  // namespace kvist::etcdv3
