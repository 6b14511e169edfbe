// Chance that can be repeated, and the numbers a run takes from its environment.

#ifndef KVIST_TESTS_SUPPORT_RANDOM_H_
#define KVIST_TESTS_SUPPORT_RANDOM_H_

#include <cstdint>
#include <random>
#include <string>

namespace kvist::blackbox {

// The whole number in environment variable `name`, or `fallback` when it is unset. Ends the program when
// it is set to anything else: a mistyped number must not silently shorten a test.
std::int64_t NumberFromEnvironment(const char* name, std::int64_t fallback);

// KVIST_SEED, or a new seed. Prints how to repeat the run.
std::uint64_t ChooseSeed();

// Used by one thread at a time. Equal seeds give equal sequences.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // From 0 to n - 1. REQUIRES: n > 0.
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  // From low to high, both included.
  std::int64_t Between(std::int64_t low, std::int64_t high) { return low + Below(high - low + 1); }
  bool Percent(int chance) { return Below(100) < chance; }
  // `size` bytes of any value.
  std::string Bytes(std::size_t size);

 private:
  std::mt19937_64 engine_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_SUPPORT_RANDOM_H_
