// Reads one range at one revision: finds what is visible in the index, in pieces so that no lock is held
// for long, then fetches the records and appends them to the reply.

#ifndef KVIST_KV_RANGE_READER_H_
#define KVIST_KV_RANGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kv/key_index.h"
#include "kv/key_range.h"
#include "kv/types.h"

namespace kvist::kv {

// Finds the mvccpb.KeyValue bytes of a modification, which stay valid as long as the reader needs them.
using RecordFinder = absl::FunctionRef<std::optional<std::string_view>(RevisionKey)>;

// Reading at this revision sees the newest state, the batch in flight included. For the writer alone.
inline constexpr Revision kNewest = INT64_MAX;

// How many entries may be looked at while the index is locked: about 100 us.
inline constexpr int kEntriesPerLockMax = 512;

// Used by one thread. The request, the finder and the result are borrowed.
class RangeReader {
 public:
  // How the keys of the range are counted.
  enum class Count {
    kAtCommitted,  // `at` is the committed revision of the index at the first Collect
    kAtNewest,     // `at` is kNewest
    kWalk,         // `at` is an older revision
  };

  RangeReader(const RangeRequest& request, Revision at, Count count, RecordFinder records,
              RangeResult* result);

  // Looks at the next entries. Returns true when all have been seen; call it until then, each time with the
  // index locked. Between calls the versions visible at `at` must not be compacted.
  bool Collect(const KeyIndex& index, int max_entries);
  [[nodiscard]] bool collected() const { return collected_; }

  // Fetches, filters, sorts, cuts and appends what was collected. The index need not be locked. DATA_LOSS if
  // a record is missing or malformed.
  absl::Status Finish();

 private:
  struct Pair;

  // Walks on, and returns whether the walk has ended.
  bool Walk(const KeyIndex& index, int max_entries);
  void CollectSingle(const KeyIndex& index);
  void StartCounting(const KeyIndex& index);
  // Takes what `at_` sees of the entry. Returns false when enough has been taken and the walk may end.
  bool Visit(const KeyEntry& entry);
  void Take(const KeyEntry& entry, const Version& version);
  void AppendKeyFromIndex(const KeyEntry& entry, const Version& version);
  absl::Status FinishPlain();
  absl::Status FinishSorted();
  absl::Status Fetch(RevisionKey revision, std::string_view* bytes) const;
  [[nodiscard]] bool WithinBounds(const Pair& pair) const;
  void Sort(std::vector<Pair>* pairs) const;
  // What of the pair's bytes the reply holds.
  [[nodiscard]] std::string_view Reply(std::string_view bytes) const;

  const RangeRequest& request_;
  const KeyRange range_;
  const Revision at_;
  const Count count_;
  const RecordFinder records_;
  RangeResult* const result_;
  const bool sorted_;           // the whole range is needed before any can be chosen or ordered
  const bool keys_from_index_;  // a reply without values that needs no record
  const std::size_t take_max_;  // one more than the limit, to know whether there is more
  bool counting_by_walk_ = false;
  std::size_t taken_ = 0;
  bool started_ = false;
  bool collected_ = false;
  std::string resume_;  // the first key not looked at yet
  absl::InlinedVector<RevisionKey, 8> found_;
  bool lost_record_ = false;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_RANGE_READER_H_
