// The keys of the load test. None is ever deleted, so that each put of a key raises its version by one: a
// reader who sees every version from 1 on, in order, has missed nothing and was told nothing twice.

#ifndef KVIST_TESTS_LOAD_KEYS_H_
#define KVIST_TESTS_LOAD_KEYS_H_

#include <string>

#include "absl/strings/str_format.h"

namespace kvist::blackbox {

inline constexpr int kLoadKeys = 900;

inline std::string LoadKey(std::int64_t n) { return absl::StrFormat("load/%03d", n); }

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_LOAD_KEYS_H_
