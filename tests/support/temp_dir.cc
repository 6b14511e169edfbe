#include "tests/support/temp_dir.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace kvist::blackbox {

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/kvist-test-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    std::fprintf(stderr, "cannot make a directory %s: %s\n", path_.c_str(), std::strerror(errno));
    std::abort();
  }
}

TempDir::~TempDir() {
  if (std::getenv("KVIST_KEEP_DIRS") != nullptr) {
    std::printf("kept: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;  // a directory that cannot be removed must not fail the test that used it
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace kvist::blackbox
