// Evaluates the conditions of a Txn.

#ifndef KVIST_KV_COMPARE_H_
#define KVIST_KV_COMPARE_H_

#include <vector>

#include "kv/key_index.h"
#include "kv/range_reader.h"
#include "kv/types.h"

namespace kvist::kv {

// Whether `compare` holds for what a reader at `at` sees. With a range, every key in it must satisfy the
// condition. A missing key, or an empty range, has version, revisions and lease 0, and no value at all: no
// condition on a value holds for it. The index must be locked.
bool Holds(const Compare& compare, const KeyIndex& index, Revision at, RecordFinder records);

// Whether all of them hold; true if there are none.
bool AllHold(const std::vector<Compare>& compares, const KeyIndex& index, Revision at, RecordFinder records);

}  // namespace kvist::kv

#endif  // KVIST_KV_COMPARE_H_
