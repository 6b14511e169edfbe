// etcd's range convention (kv/types.h) as an interval.

#ifndef KVIST_KV_KEY_RANGE_H_
#define KVIST_KV_KEY_RANGE_H_

#include <string_view>

namespace kvist::kv {

// The keys a request means. Views are borrowed.
struct KeyRange {
  KeyRange(std::string_view key, std::string_view range_end)
      : begin(key),
        end(range_end),
        single(range_end.empty()),
        unbounded(range_end.size() == 1 && range_end[0] == '\0') {}

  [[nodiscard]] bool EndsBefore(std::string_view key) const {
    return single ? key != begin : !unbounded && key >= end;
  }
  [[nodiscard]] bool Contains(std::string_view key) const { return key >= begin && !EndsBefore(key); }

  const std::string_view begin;
  const std::string_view end;  // meaningless if single or unbounded
  const bool single;
  const bool unbounded;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_KEY_RANGE_H_
