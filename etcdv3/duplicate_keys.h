// Whether the operations of a Txn's branch put a key twice, or put a key that another deletes.

#ifndef KVIST_ETCDV3_DUPLICATE_KEYS_H_
#define KVIST_ETCDV3_DUPLICATE_KEYS_H_

#include <vector>

#include "kv/types.h"

namespace kvist::etcdv3 {

// etcd's rules for one branch, with their asymmetries, which clients may rely on:
//   1. The deletes of this level are gathered first. A delete of every key from `key` on (range_end is a
//      zero byte) counts as empty.
//   2. Then the nested Txns, in order. Each of their puts, then-branch before else-branch, clashes with a
//      delete gathered so far and with a put of an earlier sibling; the two branches of one Txn may put
//      the same key. Their deletes are gathered when their puts are done. So [txn{put k}, txn{delete k}]
//      passes and [txn{delete k}, txn{put k}] does not.
//   3. Last the puts of this level, against everything gathered.
// Two deletes never clash, and reads clash with nothing.
//
// Costs no allocation where there is no nested Txn and the branch is short.
[[nodiscard]] bool HasDuplicateKeys(const std::vector<kv::Op>& branch);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_DUPLICATE_KEYS_H_
