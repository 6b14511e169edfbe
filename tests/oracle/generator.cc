#include "tests/oracle/generator.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "tests/support/client.h"

namespace kvist::blackbox {
namespace {

using etcdserverpb::RangeRequest;
using namespace std::string_literals;  // NOLINT: "\0"s keeps its zero byte

constexpr int kPlainKeys = 1200;
constexpr int kFew = 12;
constexpr int kMaxDepth = 3;
constexpr int kMaxTxnOps = 128;
constexpr std::int64_t kNoSuchLease = 7777;

std::string PlainKey(std::int64_t n) { return absl::StrFormat("w%04d", n); }

}  // namespace

Generator::Generator(std::uint64_t seed, const Dialect& dialect) : dialect_(dialect), random_(seed) {
  odd_keys_ = {"a",     "aa",    "aab",       "ab",   "b",      "\0"s,
               "\0\0"s, "\xff"s, "\xff\xff"s, "a\0"s, "a\xff"s, std::string(600, 'k')};
  keys_ = odd_keys_;
  for (int i = 0; i < kPlainKeys; ++i) keys_.push_back(PlainKey(i));
  std::sort(keys_.begin(), keys_.end());
}

std::string Generator::Key() {
  if (Rarely()) return "";
  if (random_.Percent(60)) return odd_keys_[random_.Below(std::ssize(odd_keys_))];
  return PlainKey(random_.Below(random_.Percent(50) ? 30 : kPlainKeys));
}

std::string Generator::Value() {
  switch (random_.Below(8)) {
    case 0:
      return "";
    case 1:
      return std::string(100, 'x');
    case 2:
      return random_.Bytes(8);
    case 3:
      return "1\0"s;
    default:
      return std::string(1, static_cast<char>('0' + random_.Below(4)));
  }
}

Generator::Interval Generator::FewKeys() {
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), Key()) - keys_.begin();
  const std::int64_t size = random_.Between(1, kFew);
  const std::int64_t begin = std::max<std::int64_t>(0, at - random_.Below(size));
  const std::int64_t end = std::min<std::int64_t>(begin + size, std::ssize(keys_) - 1);
  return {keys_[begin], keys_[end], true};
}

Generator::Interval Generator::ManyKeys() {
  switch (random_.Below(4)) {
    case 0:
      return {"\0"s, "\0"s, false};
    case 1:
      return {Key(), "\0"s, false};
    case 2:
      return {PlainKey(random_.Below(kPlainKeys)), PlainKey(random_.Below(kPlainKeys)), false};
    default: {
      static const std::string prefixes[] = {"a", "aa", "w", "w00", "w000", "\xff", "k"};
      const std::string& prefix = prefixes[random_.Below(std::size(prefixes))];
      return {prefix, PrefixEnd(prefix), false};
    }
  }
}

Generator::Interval Generator::AnyInterval() {
  const std::int64_t dice = random_.Below(100);
  if (dice < 50) return {Key(), "", true};
  if (dice < 78) return FewKeys();
  if (dice < 93) return ManyKeys();
  Interval interval = FewKeys();
  if (dice < 97) std::swap(interval.key, interval.range_end);  // reversed
  if (dice >= 97) interval.range_end = interval.key;           // empty
  interval.few = interval.range_end != "\0"s;                  // for that has a meaning of its own
  return interval;
}

std::int64_t Generator::ReadRevision() {
  const std::int64_t dice = random_.Below(100);
  if (dice < 60) return 0;
  if (dice < 82) return FromCurrent(-random_.Below(12));
  if (dice < 90) return FromCompacted(random_.Between(-1, 3));
  if (dice < 94) return FromCurrent(random_.Between(1, 3));
  if (dice < 97) return random_.Between(-3, -1);
  return random_.Between(1, 40);
}

std::int64_t Generator::Limit() {
  switch (random_.Below(14)) {
    case 0:
      return -1;
    case 1:
      return std::numeric_limits<std::int64_t>::max();
    case 2:
      return std::numeric_limits<std::int64_t>::min();
    case 3:
      return std::int64_t{1} << 32;
    case 4:
    case 5:
    case 6:
      return random_.Between(1, 4);
    case 7:
      return random_.Between(5, 200);
    default:
      return 0;
  }
}

void Generator::SetSort(bool few, RangeRequest* range) {
  if (random_.Percent(40)) return;
  int order = static_cast<int>(random_.Below(3));
  int target = few ? static_cast<int>(random_.Below(5)) : 0;
  if (dialect_.checks_sort_options && Rarely()) order = random_.Percent(50) ? 3 : -1;
  if (dialect_.checks_sort_options && Rarely()) target = random_.Percent(50) ? 5 : -1;
  range->set_sort_order(static_cast<RangeRequest::SortOrder>(order));
  range->set_sort_target(static_cast<RangeRequest::SortTarget>(target));
}

void Generator::SetBounds(RangeRequest* range) {
  const auto bound = [this] { return Rarely() ? -2 : FromCurrent(-random_.Below(30)); };
  if (random_.Percent(12)) range->set_min_mod_revision(bound());
  if (random_.Percent(12)) range->set_max_mod_revision(bound());
  if (random_.Percent(8)) range->set_min_create_revision(bound());
  if (random_.Percent(8)) range->set_max_create_revision(bound());
}

RangeRequest Generator::Range(bool in_txn) {
  const Interval interval = AnyInterval();
  RangeRequest range;
  range.set_key(interval.key);
  range.set_range_end(interval.range_end);
  range.set_limit(Limit());
  // In a Txn a revision that cannot be read spoils all: be sparing.
  if (!in_txn || random_.Percent(25)) range.set_revision(ReadRevision());
  SetSort(interval.few, &range);
  SetBounds(&range);
  range.set_keys_only(random_.Percent(15));
  range.set_count_only(random_.Percent(10));
  range.set_serializable(random_.Percent(20));
  return range;
}

StreamedRange Generator::Streamed() {
  StreamedRange step{Range(false)};
  if (random_.Percent(70)) {  // what RangeStream takes
    step.request.clear_sort_order();
    step.request.clear_sort_target();
    step.request.clear_min_mod_revision();
    step.request.clear_max_mod_revision();
    step.request.clear_min_create_revision();
    step.request.clear_max_create_revision();
  }
  // etcd sorts each part of such a reply by itself and goes on behind its last key as sorted, so that it
  // repeats keys or leaves some out. There is nothing to be like.
  if (step.request.sort_order() == RangeRequest::NONE) step.request.clear_sort_target();
  return step;
}

etcdserverpb::PutRequest Generator::Put() {
  etcdserverpb::PutRequest put;
  put.set_key(Key());
  put.set_ignore_value(random_.Percent(6));
  if (!put.ignore_value() || Rarely()) put.set_value(Value());
  put.set_ignore_lease(random_.Percent(4));
  if (random_.Percent(1)) put.set_lease(random_.Percent(50) ? kNoSuchLease : -kNoSuchLease);
  put.set_prev_kv(random_.Percent(25));
  return put;
}

etcdserverpb::DeleteRangeRequest Generator::Delete() {
  Interval interval = AnyInterval();
  // Deleting nearly everything each few steps would leave nothing to compare.
  if (!interval.few && !random_.Percent(8)) interval = {Key(), "", true};
  etcdserverpb::DeleteRangeRequest request;
  request.set_key(interval.key);
  request.set_range_end(interval.range_end);
  request.set_prev_kv(random_.Percent(35));
  return request;
}

etcdserverpb::CompactionRequest Generator::Compact() {
  etcdserverpb::CompactionRequest request;
  const std::int64_t dice = random_.Below(100);
  if (dice < 40) {
    request.set_revision(FromCurrent(-random_.Below(40)));
  } else if (dice < 60) {
    request.set_revision(FromCompacted(random_.Between(-1, 5)));
  } else if (dice < 75) {
    request.set_revision(FromCurrent(random_.Between(1, 3)));
  } else {
    request.set_revision(random_.Between(-1, 1));
  }
  request.set_physical(random_.Percent(30));
  return request;
}

void Generator::SetCompareOperand(int target, etcdserverpb::Compare* compare) {
  const auto revision = [this] { return random_.Percent(40) ? 0 : FromCurrent(-random_.Below(20)); };
  switch (target) {
    case 0:
      compare->set_version(random_.Below(4));
      break;
    case 1:
      compare->set_create_revision(revision());
      break;
    case 2:
      compare->set_mod_revision(revision());
      break;
    case 3:
      compare->set_value(Value());
      break;
    case 4:
      compare->set_lease(random_.Percent(70) ? 0 : kNoSuchLease);
      break;
    default:
      break;
  }
}

etcdserverpb::Compare Generator::Compare() {
  etcdserverpb::Compare compare;
  int target = static_cast<int>(random_.Below(5));
  const std::int64_t dice = random_.Below(100);
  // The operand is mostly of the target's kind, now and then of another, now and then not there.
  if (dice < 90) SetCompareOperand(target, &compare);
  if (dice >= 96) SetCompareOperand(static_cast<int>(random_.Below(5)), &compare);
  if (random_.Percent(2)) target = random_.Percent(50) ? 9 : -1;
  compare.set_target(static_cast<etcdserverpb::Compare::CompareTarget>(target));
  int result = static_cast<int>(random_.Below(4));
  if (random_.Percent(2)) result = random_.Percent(50) ? 9 : -1;
  compare.set_result(static_cast<etcdserverpb::Compare::CompareResult>(result));
  const Interval interval = random_.Percent(30) ? AnyInterval() : Interval{Key(), "", true};
  compare.set_key(interval.key);
  compare.set_range_end(interval.range_end);
  return compare;
}

etcdserverpb::RequestOp Generator::TxnOp(int depth) {
  etcdserverpb::RequestOp op;
  if (Rarely()) return op;
  const std::int64_t dice = random_.Below(100);
  if (dice < 30) {
    *op.mutable_request_range() = Range(true);
  } else if (dice < 65) {
    *op.mutable_request_put() = Put();
  } else if (dice < 80 || depth == kMaxDepth) {
    *op.mutable_request_delete_range() = Delete();
  } else {
    *op.mutable_request_txn() = Txn(depth + 1);
  }
  return op;
}

namespace {

// Whether any branch deletes every key from some key on: the one kind of delete that is not checked against
// the puts of its Txn.
bool DeletesFromKey(const etcdserverpb::TxnRequest& txn) {
  const auto deletes = [](const etcdserverpb::RequestOp& op) {
    if (op.has_request_txn()) return DeletesFromKey(op.request_txn());
    return op.has_request_delete_range() && op.request_delete_range().range_end() == std::string(1, '\0');
  };
  return std::any_of(txn.success().begin(), txn.success().end(), deletes) ||
         std::any_of(txn.failure().begin(), txn.failure().end(), deletes);
}

void ClearIgnores(etcdserverpb::TxnRequest* txn) {
  for (auto* branch : {txn->mutable_success(), txn->mutable_failure()}) {
    for (etcdserverpb::RequestOp& op : *branch) {
      if (op.has_request_txn()) ClearIgnores(op.mutable_request_txn());
      if (!op.has_request_put()) continue;
      op.mutable_request_put()->clear_ignore_value();
      op.mutable_request_put()->clear_ignore_lease();
    }
  }
}

// A put that keeps the value of a key which the same Txn has deleted before ends etcd with a panic.
etcdserverpb::TxnRequest Survivable(etcdserverpb::TxnRequest txn) {
  if (DeletesFromKey(txn)) ClearIgnores(&txn);
  return txn;
}

}  // namespace

etcdserverpb::TxnRequest Generator::Txn(int depth) {
  etcdserverpb::TxnRequest txn;
  for (std::int64_t n = random_.Below(3); n > 0; --n) *txn.add_compare() = Compare();
  for (std::int64_t n = random_.Below(4); n > 0; --n) *txn.add_success() = TxnOp(depth);
  for (std::int64_t n = random_.Below(4); n > 0; --n) *txn.add_failure() = TxnOp(depth);
  return txn;
}

// Up to, at and over the most operations a Txn may have, alone or with a nested one.
etcdserverpb::TxnRequest Generator::BulkTxn() {
  etcdserverpb::TxnRequest txn;
  const std::int64_t puts =
      random_.Percent(80) ? random_.Between(20, 100) : kMaxTxnOps - random_.Between(-1, 2);
  const std::int64_t first = random_.Below(kPlainKeys - puts);
  for (std::int64_t i = 0; i < puts; ++i) {
    etcdserverpb::PutRequest* put = txn.add_success()->mutable_request_put();
    put->set_key(PlainKey(first + i));
    put->set_value(Value());
  }
  if (random_.Percent(30)) *txn.add_success()->mutable_request_txn() = Txn(kMaxDepth);
  return txn;
}

void Generator::FillWatchCreate(int stream, etcdserverpb::WatchCreateRequest* create) {
  const Interval interval = random_.Percent(30) ? ManyKeys() : AnyInterval();
  create->set_key(interval.key);
  create->set_range_end(interval.range_end);
  if (dialect_.checks_watch_start && random_.Percent(4)) {
    create->set_start_revision(random_.Between(-2, -1));
  } else if (random_.Percent(60)) {
    create->set_start_revision(stream == 0           ? FromCurrent(random_.Between(1, 5))
                               : random_.Percent(75) ? FromCurrent(-random_.Below(60))
                                                     : FromCompacted(random_.Between(-2, 2)));
  }
  if (random_.Percent(15)) create->add_filters(etcdserverpb::WatchCreateRequest::NOPUT);
  if (random_.Percent(15)) create->add_filters(etcdserverpb::WatchCreateRequest::NODELETE);
  if (Rarely()) create->add_filters(static_cast<etcdserverpb::WatchCreateRequest::FilterType>(7));
  create->set_prev_kv(random_.Percent(50));
  create->set_fragment(random_.Percent(20));
  create->set_progress_notify(random_.Percent(10));
  if (random_.Percent(30)) create->set_watch_id(random_.Percent(90) ? random_.Between(1, 6) : -5);
}

WatchStep Generator::Watch() {
  WatchStep step;
  step.stream = static_cast<int>(random_.Below(kWatchStreams));
  const std::int64_t dice = random_.Below(100);
  if (dice < 55) {
    FillWatchCreate(step.stream, step.request.mutable_create_request());
  } else if (dice < 90) {
    step.request.mutable_cancel_request()->set_watch_id(random_.Between(-2, 10));
  } else if (dice < 99 && dialect_.progress_is_a_barrier) {
    step.request.mutable_progress_request();
  }
  return step;  // sometimes with no request inside
}

Operation Generator::Next() {
  const std::int64_t dice = random_.Below(1000);
  if (dice < 290) return Put();
  if (dice < 370) return Delete();
  if (dice < 640) return Range(false);
  if (dice < 880) return Survivable(Txn(1));
  if (dice < 890) return Survivable(BulkTxn());
  if (dice < 905) return Compact();
  if (dice < 945) {
    if (dialect_.range_stream) return Streamed();
    return Range(false);
  }
  return Watch();
}

}  // namespace kvist::blackbox
