#include "tests/support/random.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace kvist::blackbox {

std::int64_t NumberFromEnvironment(const char* name, std::int64_t fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) {
    std::fprintf(stderr, "%s=%s is not a number\n", name, text);
    std::exit(2);
  }
  return number;
}

std::uint64_t ChooseSeed() {
  std::int64_t seed = NumberFromEnvironment("KVIST_SEED", 0);
  if (seed == 0) seed = static_cast<std::int64_t>(std::random_device{}() >> 1) + 1;
  std::printf("seed %lld (KVIST_SEED=%lld repeats it)\n", static_cast<long long>(seed),
              static_cast<long long>(seed));
  std::fflush(stdout);
  return static_cast<std::uint64_t>(seed);
}

std::string Random::Bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(Below(256));
  return bytes;
}

}  // namespace kvist::blackbox
