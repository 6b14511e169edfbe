// What a store must hold after a crash: all that was acknowledged, each write wholly or not at all, at
// revisions without a gap. The chronicle knows every write that was tried, and from the server's own
// history tells which of them happened, in which order, and that nothing else did.

#ifndef KVIST_TESTS_CRASH_CHRONICLE_H_
#define KVIST_TESTS_CRASH_CHRONICLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/etcdserverpb.pb.h"

namespace kvist::blackbox {

// A write that was sent. Every key of `puts` is given the value `id`, which no other write uses; then all
// keys that start with `delete_prefix`, unless that is empty, are deleted. All in one revision.
struct Attempt {
  std::string id;
  std::vector<std::string> puts;
  std::string delete_prefix;
  std::int64_t revision = 0;  // the one it was acknowledged at; 0 when no answer came
};

// All that happened at one revision.
using Moment = std::vector<mvccpb::Event>;

// Sorts events, in the order a watch sent them, by revision. Fails, with words in *fault, if a revision is
// missing between the first and the last or they do not rise.
std::vector<Moment> SplitByRevision(const std::vector<mvccpb::Event>& events, std::int64_t first,
                                    std::string* fault);

// Used by one thread.
class Chronicle {
 public:
  // Takes what a round tried, acknowledged or not.
  void AddAttempts(std::vector<Attempt> attempts);

  // Compares `moments`, the whole history of the server from revision `first` on, with what is known, and
  // learns what is new in it. Returns what is wrong; empty if nothing is.
  std::string Learn(std::int64_t first, const std::vector<Moment>& moments);

  // Whether each acknowledged attempt of the last AddAttempts has been learnt. Returns what is wrong.
  [[nodiscard]] std::string CheckAcknowledged() const;

  // The newest revision learnt; 1 at first.
  [[nodiscard]] std::int64_t last_revision() const { return first_ + std::ssize(moments_) - 1; }
  // What happened at a revision that is known and not forgotten.
  [[nodiscard]] const Moment& At(std::int64_t revision) const;
  // The values of all keys at last_revision().
  [[nodiscard]] const std::map<std::string, std::string>& state() const { return state_; }
  [[nodiscard]] const std::unordered_map<std::string, Attempt>& attempts() const { return attempts_; }

  // Forgets what happened before `revision`.
  void Forget(std::int64_t revision);

 private:
  std::string LearnOne(std::int64_t revision, const Moment& moment);
  [[nodiscard]] const Attempt* Author(const Moment& moment) const;
  [[nodiscard]] std::vector<std::string> Expected(const Attempt& attempt) const;

  std::int64_t first_ = 2;  // revision of moments_.front()
  std::deque<Moment> moments_;
  std::map<std::string, std::string> state_;
  std::unordered_map<std::string, Attempt> attempts_;       // of this round, by id
  std::unordered_map<std::string, std::int64_t> happened_;  // of this round: at which revision
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_CRASH_CHRONICLE_H_
