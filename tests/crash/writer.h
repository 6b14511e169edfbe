// One client that writes at random until its server dies.

#ifndef KVIST_TESTS_CRASH_WRITER_H_
#define KVIST_TESTS_CRASH_WRITER_H_

#include <string>
#include <vector>

#include "tests/crash/chronicle.h"
#include "tests/support/client.h"
#include "tests/support/random.h"

namespace kvist::blackbox {

// Groups of keys are only ever written whole, by one Txn each.
inline constexpr int kGroups = 20;
inline constexpr int kKeysOfAGroup = 5;

// Used by one thread.
class Writer {
 public:
  // `name` is different for each writer of a test. `known` is a revision all before which may be compacted.
  Writer(std::string name, int port, std::int64_t known, std::uint64_t seed)
      : name_(std::move(name)), client_(port), known_(known), random_(seed) {}

  // Writes until a call fails, which the last attempt is then left without a revision for.
  void Run();

  // Everything tried.
  [[nodiscard]] const std::vector<Attempt>& attempts() const { return attempts_; }
  // The revisions of compactions that were sent, and the newest that was acknowledged (0: none).
  [[nodiscard]] const std::vector<std::int64_t>& compactions() const { return compactions_; }
  [[nodiscard]] std::int64_t compacted() const { return compacted_; }
  // What was wrong with an answer; empty if nothing was.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  Attempt NextAttempt();
  grpc::Status Send(const Attempt& attempt, std::int64_t* revision) const;
  grpc::Status Compact();

  const std::string name_;
  const Client client_;
  const std::int64_t known_;
  Random random_;
  std::vector<Attempt> attempts_;
  std::vector<std::string> own_keys_;  // put by this writer alone, and not deleted yet
  std::vector<std::int64_t> compactions_;
  std::int64_t compacted_ = 0;
  std::int64_t last_revision_ = 0;
  std::string fault_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_CRASH_WRITER_H_
