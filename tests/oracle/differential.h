// Plays one sequence to two servers, compares, and cuts a sequence that shows a difference down to the
// steps that matter.

#ifndef KVIST_TESTS_ORACLE_DIFFERENTIAL_H_
#define KVIST_TESTS_ORACLE_DIFFERENTIAL_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/dialect.h"
#include "tests/oracle/operation.h"
#include "tests/support/server_process.h"

namespace kvist::blackbox {

struct Difference {
  std::size_t step = 0;  // index of the operation; the number of operations if it showed only after them
  std::string text;
};

// What a run consisted of, by the right side's answers: to see that it was about something.
struct Tally {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::size_t watch_messages = 0;
};

// What differs, and the shortest sequence found that shows a difference.
struct Finding {
  std::vector<Operation> sequence;
  Difference difference;
};

// Two kinds of server to compare. The data directories of the options are set for each run.
class Pair {
 public:
  Pair(ServerOptions left, ServerOptions right, const Dialect& dialect)
      : left_(std::move(left)), right_(std::move(right)), dialect_(dialect) {}

  // Plays `operations` to two new servers. Empty when they answered alike. Adds to *tally.
  std::optional<Difference> Run(const std::vector<Operation>& operations, Tally* tally) const;

  // Leaves out of `operations`, for which Run found `difference`, what can be left out with Run still
  // finding one. Stops after `time`.
  Finding Shrink(std::vector<Operation> operations, Difference difference, std::chrono::seconds time) const;

 private:
  const ServerOptions left_;
  const ServerOptions right_;
  const Dialect dialect_;
};

// For a person to read.
std::string Describe(const Finding& finding);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_DIFFERENTIAL_H_
