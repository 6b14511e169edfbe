// Random sequences of operations over few keys, so that they often meet.

#ifndef KVIST_TESTS_ORACLE_GENERATOR_H_
#define KVIST_TESTS_ORACLE_GENERATOR_H_

#include <string>
#include <vector>

#include "tests/oracle/dialect.h"
#include "tests/oracle/operation.h"
#include "tests/support/random.h"

namespace kvist::blackbox {

// Equal seeds and dialects give equal sequences, whatever the server. Used by one thread.
class Generator {
 public:
  Generator(std::uint64_t seed, const Dialect& dialect);

  Operation Next();

 private:
  // A range of keys. `few`: it holds at most 12 keys, which etcd sorts stably: with more, the order of
  // equal versions or values is not defined, and a sorted reply cannot be compared.
  struct Interval {
    std::string key;
    std::string range_end;
    bool few = true;
  };

  bool Rarely() { return random_.Below(150) == 0; }
  std::string Key();
  std::string Value();
  Interval AnyInterval();
  Interval FewKeys();
  Interval ManyKeys();
  std::int64_t ReadRevision();
  std::int64_t Limit();

  etcdserverpb::RangeRequest Range(bool in_txn);
  void SetSort(bool few, etcdserverpb::RangeRequest* range);
  void SetBounds(etcdserverpb::RangeRequest* range);
  etcdserverpb::PutRequest Put();
  etcdserverpb::DeleteRangeRequest Delete();
  etcdserverpb::CompactionRequest Compact();
  etcdserverpb::TxnRequest Txn(int depth);
  etcdserverpb::TxnRequest BulkTxn();
  etcdserverpb::Compare Compare();
  void SetCompareOperand(int target, etcdserverpb::Compare* compare);
  etcdserverpb::RequestOp TxnOp(int depth);
  StreamedRange Streamed();
  WatchStep Watch();
  void FillWatchCreate(int stream, etcdserverpb::WatchCreateRequest* create);

  const Dialect dialect_;
  Random random_;
  std::vector<std::string> odd_keys_;  // few, and as awkward as keys can be
  std::vector<std::string> keys_;      // these and many plain ones, in order
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_GENERATOR_H_
