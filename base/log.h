// Structured logging: a message that never changes, and fields that do.
//
//   log::Info("serving client requests", {{"address", address}, {"revision", 12}});
//
// One message is one line on stderr, in one of two formats:
//   json  {"level":"info","ts":"2006-01-02T15:04:05.000000Z","msg":"serving client requests","revision":12}
//   text  2006-01-02T15:04:05.000000Z INFO  serving client requests revision=12
//
// Any bytes may be logged: a line is always valid UTF-8 without control characters, and a json line is
// always one valid JSON object. So a hostile key can neither forge a line nor drive a terminal.
//
// Threads: every function may be called from any thread at any time; lines never mix.

#ifndef KVIST_BASE_LOG_H_
#define KVIST_BASE_LOG_H_

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace kvist::log {

enum class Level { kDebug, kInfo, kWarn, kError };
enum class Format { kJson, kText };

// What a field may hold. Durations print as Go prints them ("1.5ms"), strings as views of the caller's.
using Value = std::variant<std::string_view, int64_t, uint64_t, double, bool, std::chrono::nanoseconds>;

// Strings of any library (Debian's absl::string_view is not std::string_view).
template <typename T>
concept CharSequence = requires(const T& s) {
  { s.data() } -> std::convertible_to<const char*>;
  { s.size() } -> std::convertible_to<size_t>;
};

// One key with its value; both are views and must outlive the call that logs them.
// `key` is a plain word, other than "level", "ts" and "msg", which every line has.
struct Field {
  template <typename T>
  Field(std::string_view name, const T& content) : key(name), value(ToValue(content)) {}

  std::string_view key;
  Value value;

 private:
  template <typename T>
  static Value ToValue(const T& content) {
    if constexpr (CharSequence<T>) {
      return std::string_view(content.data(), content.size());
    } else if constexpr (std::is_convertible_v<const T&, const char*>) {
      return std::string_view(static_cast<const char*>(content));
    } else if constexpr (std::is_same_v<T, bool>) {
      return content;
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(content);
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<int64_t>(content);
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<uint64_t>(content);
    } else {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(content);
    }
  }
};

using Fields = std::initializer_list<Field>;

namespace internal {
inline std::atomic<Level> lowest_level = Level::kInfo;
void Write(Level level, std::string_view message, Fields fields);
}  // namespace internal

// What is logged from now on. Until it is called: json, from Level::kInfo up.
void Configure(Format format, Level lowest);

// A message of a level that is off costs this one check. Ask it before computing a costly field.
inline bool Enabled(Level level) { return level >= internal::lowest_level.load(std::memory_order_relaxed); }

inline void Debug(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kDebug)) internal::Write(Level::kDebug, message, fields);
}
inline void Info(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kInfo)) internal::Write(Level::kInfo, message, fields);
}
inline void Warn(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kWarn)) internal::Write(Level::kWarn, message, fields);
}
inline void Error(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kError)) internal::Write(Level::kError, message, fields);
}

// The line, without its newline, that a message logged at `time` becomes.
std::string FormatLine(Format format, Level level, std::chrono::system_clock::time_point time,
                       std::string_view message, Fields fields);

// For tests: while it lives, lines are kept here and not written to stderr. One at a time.
class Capture {
 public:
  Capture();
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // The lines logged so far, without newlines.
  std::vector<std::string> Lines() const;

 private:
  class Sink;
  const std::shared_ptr<Sink> sink_;
};

}  // namespace kvist::log

#endif  // KVIST_BASE_LOG_H_
