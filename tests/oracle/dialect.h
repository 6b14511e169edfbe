// What an older etcd does otherwise than etcd 3.7, and what a comparison with it must leave out for that.

#ifndef KVIST_TESTS_ORACLE_DIALECT_H_
#define KVIST_TESTS_ORACLE_DIALECT_H_

#include <string>
#include <string_view>

namespace kvist::blackbox {

// All true for etcd 3.7 and newer.
struct Dialect {
  bool range_stream = true;
  // An unknown sort order or target is refused.
  bool checks_sort_options = true;
  // A watch with a negative start is refused at creation.
  bool checks_watch_start = true;
  // A progress request is answered only when every watch of the stream has caught up.
  bool progress_is_a_barrier = true;
  // A delete at exactly the compacted revision is still seen by a watch from there.
  bool keeps_tombstone_at_compaction = true;
};

// The dialect of an etcd of the given version, "3.4.23" for instance.
Dialect DialectOf(std::string_view version);

// What a comparison in this dialect leaves out, in words; empty for etcd 3.7.
std::string LeftOut(const Dialect& dialect);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_DIALECT_H_
