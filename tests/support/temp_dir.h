// A directory of a test's own, gone when the test is over.

#ifndef KVIST_TESTS_SUPPORT_TEMP_DIR_H_
#define KVIST_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

namespace kvist::blackbox {

// Makes a new directory below $TMPDIR (or /tmp) and removes it, with all it holds, when destroyed.
// With KVIST_KEEP_DIRS set in the environment it stays and its path is printed, to look into.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_SUPPORT_TEMP_DIR_H_
