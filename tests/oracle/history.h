// Every event of a server from its first revision on, told by one watch over all keys: what each other
// watch must have been sent can be read off it.

#ifndef KVIST_TESTS_ORACLE_HISTORY_H_
#define KVIST_TESTS_ORACLE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/watch_stream.h"

namespace kvist::blackbox {

// Used by one thread. REQUIRES: the server has not been compacted when it is made.
class History {
 public:
  explicit History(const Client& client);

  // Waits until all events up to `revision`, which must have changed something, are here. Returns what is
  // wrong, e.g. that they did not come; empty if nothing is.
  std::string Reach(std::int64_t revision);

  [[nodiscard]] const std::vector<mvccpb::Event>& events() const { return events_; }
  // The index of the first event at or after `revision`.
  [[nodiscard]] std::size_t IndexOf(std::int64_t revision) const;

 private:
  WatchStream stream_;
  std::vector<mvccpb::Event> events_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_HISTORY_H_
