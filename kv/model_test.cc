// The store against a model that a reader can check by eye: a map of every version of every key. Random
// requests go to both, and every field of every result must be the same. KVIST_SEED repeats a run, KVIST_OPS
// makes it longer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kv/errors.h"
#include "kv/key_range.h"
#include "kv/test_support.h"

namespace kvist::kv {
namespace {

struct ModelVersion {
  std::string value;
  Revision create = 0;
  Revision mod = 0;
  std::int64_t version = 0;  // 0: deleted
};

class Model {
 public:
  Revision revision = 1;
  Revision compacted = kNeverCompacted;

  void Put(const std::string& key, const std::string& value, Revision at) {
    const std::optional<ModelVersion> before = Get(key, at);
    history_[key].push_back({value, before ? before->create : at, at, before ? before->version + 1 : 1});
  }

  std::int64_t Delete(const KeyRange& range, Revision at) {
    std::int64_t deleted = 0;
    for (const std::string& key : KeysAt(range, at)) {
      history_[key].push_back({"", 0, at, 0});
      ++deleted;
    }
    return deleted;
  }

  std::optional<ModelVersion> Get(const std::string& key, Revision at) const {
    const auto found = history_.find(key);
    if (found == history_.end()) return std::nullopt;
    std::optional<ModelVersion> visible;
    for (const ModelVersion& version : found->second) {
      if (version.mod <= at) visible = version;
    }
    return visible && visible->version > 0 ? visible : std::nullopt;
  }

  std::vector<std::string> KeysAt(const KeyRange& range, Revision at) const {
    std::vector<std::string> keys;
    for (const auto& [key, versions] : history_) {
      if (range.Contains(key) && Get(key, at)) keys.push_back(key);
    }
    return keys;
  }

  // "revision(+|-)key=value" of every modification from `from` on, in order within a key.
  std::vector<std::string> Log(Revision from) const {
    std::vector<std::string> log;
    for (const auto& [key, versions] : history_) {
      for (const ModelVersion& v : versions) {
        if (v.mod < from) continue;
        log.push_back(std::to_string(v.mod) + (v.version == 0 ? "-" : "+") + key + "=" + v.value);
      }
    }
    std::sort(log.begin(), log.end());
    return log;
  }

 private:
  std::map<std::string, std::vector<ModelVersion>> history_;
};

std::string Describe(const std::string& key, const ModelVersion& v, bool keys_only) {
  return key + "=" + (keys_only ? "" : v.value) + " create=" + std::to_string(v.create) +
         " mod=" + std::to_string(v.mod) + " version=" + std::to_string(v.version);
}

class ModelTest : public StoreFixture {
 protected:
  static constexpr int kKeys = 30;

  unsigned Random(unsigned below) { return static_cast<unsigned>(random_()) % below; }
  std::string RandomKey() {
    const unsigned number = Random(kKeys);
    return number == 0 ? std::string("k\0\xff", 3) : "k" + std::to_string(number);
  }
  std::string RandomEnd() {
    switch (Random(4)) {
      case 0:
        return "";
      case 1:
        return std::string(1, '\0');
      default:
        return RandomKey();
    }
  }
  std::string RandomValue() { return std::string(Random(20) == 0 ? 3000 : Random(6), 'a' + Random(3)); }

  void PutOnBoth() {
    const std::string key = RandomKey();
    const std::string value = RandomValue();
    const std::optional<ModelVersion> before = model_.Get(key, model_.revision);
    const absl::StatusOr<PutResult> put = store().Put({.key = key, .value = value, .prev_kv = true});
    ASSERT_TRUE(put.ok());
    model_.Put(key, value, ++model_.revision);
    ASSERT_EQ(put->revision, model_.revision);
    ASSERT_EQ(put->has_prev_kv, before.has_value());
    if (before) {
      ASSERT_EQ(kv::Describe(put->prev_kv), Describe(key, *before, false));
    }
  }

  void DeleteOnBoth() {
    const std::string key = RandomKey();
    const std::string end = RandomEnd();
    const absl::StatusOr<DeleteRangeResult> deleted = store().DeleteRange({.key = key, .range_end = end});
    ASSERT_TRUE(deleted.ok());
    const std::int64_t expected = model_.Delete(KeyRange(key, end), model_.revision + 1);
    if (expected > 0) ++model_.revision;
    ASSERT_EQ(deleted->deleted, expected);
    ASSERT_EQ(deleted->revision, model_.revision);
  }

  // A put of several keys and a delete, on condition that some key is absent.
  void TxnOnBoth() {
    const std::string guard = RandomKey();
    const std::string first = "k1" + std::to_string(Random(9));
    const std::string second = "k2" + std::to_string(Random(9));
    const std::string gone = RandomKey();
    TxnRequest txn;
    txn.compare.push_back({.target = CompareTarget::kCreate, .key = guard});
    txn.success.push_back({PutRequest{.key = first, .value = "t"}});
    txn.success.push_back({PutRequest{.key = second, .value = "t"}});
    txn.success.push_back({RangeRequest{.key = "k", .range_end = "l", .count_only = true}});
    txn.failure.push_back({DeleteRangeRequest{.key = gone}});
    const absl::StatusOr<TxnResult> result = store().Txn(txn);
    ASSERT_TRUE(result.ok());
    const bool succeeded = !model_.Get(guard, model_.revision).has_value();
    ASSERT_EQ(result->succeeded, succeeded);
    const Revision next = model_.revision + 1;
    if (succeeded) {
      model_.Put(first, "t", next);
      model_.Put(second, "t", next);
      ASSERT_EQ(std::get<RangeResult>(result->responses[2].result).count,
                static_cast<std::int64_t>(model_.KeysAt(KeyRange("k", "l"), next).size()));
      model_.revision = next;
    } else if (model_.Delete(KeyRange(gone, ""), next) > 0) {
      model_.revision = next;
    }
    ASSERT_EQ(result->revision, model_.revision);
  }

  void RangeOnBoth() {
    const std::string key = RandomKey();
    const std::string end = RandomEnd();
    const Revision at = Random(2) == 0 ? 0 : Random(static_cast<unsigned>(model_.revision) + 3);
    RangeRequest request = {.key = key, .range_end = end, .limit = Random(5), .revision = at};
    request.keys_only = Random(3) == 0;
    request.count_only = Random(6) == 0;
    RangeResult result;
    const absl::Status status = store().Range(request, &result);
    if (at > model_.revision) {
      ASSERT_EQ(status, FutureRevisionError());
      return;
    }
    if (at > 0 && at < model_.compacted) {
      ASSERT_EQ(status, CompactedError());
      return;
    }
    ASSERT_TRUE(status.ok()) << status;
    const Revision read_at = at == 0 ? model_.revision : at;
    std::vector<std::string> expected;
    const std::vector<std::string> keys = model_.KeysAt(KeyRange(key, end), read_at);
    for (const std::string& k : keys) {
      if (request.limit > 0 && expected.size() == static_cast<std::size_t>(request.limit)) break;
      if (!request.count_only) expected.push_back(Describe(k, *model_.Get(k, read_at), request.keys_only));
    }
    ASSERT_EQ(result.revision, model_.revision);
    ASSERT_EQ(result.count, static_cast<std::int64_t>(keys.size()));
    ASSERT_EQ(DescribeAll(result.kvs), expected);
    ASSERT_EQ(result.more, !request.count_only && expected.size() < keys.size());
  }

  void CompactBoth() {
    const Revision at = Random(static_cast<unsigned>(model_.revision) + 2);
    const absl::Status status = store().Compact({.revision = at, .physical = Random(2) == 0}).status();
    if (at > model_.revision) {
      ASSERT_EQ(status, FutureRevisionError());
    } else if (at <= model_.compacted) {
      ASSERT_EQ(status, CompactedError());
    } else {
      ASSERT_TRUE(status.ok());
      model_.compacted = at;
    }
  }

  void CompareLogs() {
    const Revision from = std::max<Revision>(model_.compacted, 0);
    std::vector<std::string> log;
    Revision last = from;
    ASSERT_TRUE(store()
                    .ReadLog(from,
                             [&](const LogRecord& r) {
                               EXPECT_GE(r.revision, last);
                               last = r.revision;
                               KeyValueView kv;
                               EXPECT_TRUE(DecodeKeyValue(r.key_value, &kv));
                               log.push_back(std::to_string(r.revision) + (r.tombstone ? "-" : "+") +
                                             std::string(kv.key) + "=" + std::string(kv.value));
                               return true;
                             })
                    .ok());
    std::sort(log.begin(), log.end());
    ASSERT_EQ(log, model_.Log(from));
  }

  void Step() {
    const unsigned dice = Random(1000);
    if (dice < 400) return PutOnBoth();
    if (dice < 480) return DeleteOnBoth();
    if (dice < 600) return TxnOnBoth();
    if (dice < 985) return RangeOnBoth();
    if (dice < 992) return CompactBoth();
    if (dice < 997) return CompareLogs();
    Reopen();
  }

  Model model_;
  std::mt19937 random_;
};

long FromEnvironment(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtol(value, nullptr, 10);
}

TEST_F(ModelTest, RandomRequestsGiveTheSameResults) {
  const auto seed = static_cast<unsigned>(FromEnvironment("KVIST_SEED", std::random_device()()));
  SCOPED_TRACE("repeat with KVIST_SEED=" + std::to_string(seed));
  random_.seed(seed);
  const long steps = FromEnvironment("KVIST_OPS", 5000);
  for (long step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Step();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace kvist::kv
