// Makes the lines; spdlog carries them to stderr, whole and one at a time.

#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <mutex>

namespace kvist::log {
namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

std::atomic<Format> line_format = Format::kJson;

// ---- Strings -------------------------------------------------------------------------------------

struct CodePoint {
  char32_t value = 0;
  size_t size = 0;  // Bytes; 0 when the bytes are not UTF-8.
};

// Decodes the first character of `bytes`, which is not empty. Strict: no overlong forms, no surrogates.
CodePoint DecodeUtf8(std::string_view bytes) {
  const auto byte = [bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < size) return {};
  char32_t value = lead & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, size};
}

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

void AppendControl(char32_t c, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      out->append("\\u00");
      out->push_back(kHex[(c >> 4U) & 0xFU]);
      out->push_back(kHex[c & 0xFU]);
  }
}

// Appends `bytes` as the inside of a JSON string: control characters are escaped, each byte that is not
// UTF-8 becomes U+FFFD. Quotes and backslashes are escaped when `quoted`.
void AppendEscaped(std::string_view bytes, bool quoted, std::string* out) {
  while (!bytes.empty()) {
    const CodePoint c = DecodeUtf8(bytes);
    const size_t size = c.size == 0 ? 1 : c.size;
    if (c.size == 0) {
      out->append("\uFFFD");
    } else if (IsControl(c.value)) {
      AppendControl(c.value, out);
    } else {
      if (quoted && (c.value == '"' || c.value == '\\')) out->push_back('\\');
      out->append(bytes.substr(0, size));
    }
    bytes.remove_prefix(size);
  }
}

void AppendQuoted(std::string_view bytes, std::string* out) {
  out->push_back('"');
  AppendEscaped(bytes, true, out);
  out->push_back('"');
}

// ---- Numbers and times ---------------------------------------------------------------------------

template <typename T>
void AppendNumber(T number, std::string* out) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out->append(buffer.data(), end.ptr);
}

// Appends `count` units of `unit` nanoseconds with as many decimals as are not zero.
void AppendDecimal(uint64_t nanos, uint64_t unit, std::string_view name, std::string* out) {
  AppendNumber(nanos / unit, out);
  std::string decimals;
  for (uint64_t rest = nanos % unit, digit = unit / 10; rest != 0; rest %= digit, digit /= 10) {
    decimals.push_back(static_cast<char>('0' + rest / digit));
  }
  if (!decimals.empty()) out->append(".").append(decimals);
  out->append(name);
}

// As Go prints a time.Duration: "0s", "12ns", "1.5ms", "2m0.25s", "1h0m0s".
void AppendDuration(nanoseconds duration, std::string* out) {
  constexpr uint64_t kMicro = 1000;
  constexpr uint64_t kMilli = 1000 * kMicro;
  constexpr uint64_t kSecond = 1000 * kMilli;
  constexpr uint64_t kMinute = 60 * kSecond;
  constexpr uint64_t kHour = 60 * kMinute;
  auto nanos = static_cast<uint64_t>(duration.count());
  if (duration.count() < 0) {
    out->push_back('-');
    nanos = 0 - nanos;
  }
  if (nanos == 0) return AppendDecimal(0, 1, "s", out);
  if (nanos < kMicro) return AppendDecimal(nanos, 1, "ns", out);
  if (nanos < kMilli) return AppendDecimal(nanos, kMicro, "\u00B5s", out);
  if (nanos < kSecond) return AppendDecimal(nanos, kMilli, "ms", out);
  if (nanos >= kHour) AppendDecimal(nanos / kHour, 1, "h", out);
  if (nanos >= kMinute) AppendDecimal(nanos % kHour / kMinute, 1, "m", out);
  AppendDecimal(nanos % kMinute, kSecond, "s", out);
}

void AppendTime(system_clock::time_point time, std::string* out) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - second).count();
  const std::time_t unix_seconds = system_clock::to_time_t(second);
  std::tm utc{};
  gmtime_r(&unix_seconds, &utc);
  std::array<char, 32> buffer;
  out->append(buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &utc));
  const std::string digits = std::to_string(micros);
  out->append(".").append(6 - digits.size(), '0').append(digits).append("Z");
}

// ---- Lines ---------------------------------------------------------------------------------------

std::string_view Name(Level level) {
  constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warn", "error"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view PaddedName(Level level) {
  constexpr std::array<std::string_view, 4> kNames = {"DEBUG", "INFO ", "WARN ", "ERROR"};
  return kNames[static_cast<size_t>(level)];
}

// A word needs no quotes in a text line.
bool IsWord(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\' && c != '='; };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

// JSON has no number for what is not finite.
void AppendDouble(double number, std::string* out) {
  if (std::isnan(number)) {
    out->append("\"NaN\"");
  } else if (std::isinf(number)) {
    out->append(number > 0 ? "\"+Inf\"" : "\"-Inf\"");
  } else {
    AppendNumber(number, out);
  }
}

struct AppendValue {
  Format format;
  std::string* out;

  void operator()(std::string_view text) const {
    if (format == Format::kText && IsWord(text)) {
      out->append(text);
    } else {
      AppendQuoted(text, out);
    }
  }
  void operator()(bool truth) const { out->append(truth ? "true" : "false"); }
  void operator()(int64_t number) const { AppendNumber(number, out); }
  void operator()(uint64_t number) const { AppendNumber(number, out); }
  void operator()(double number) const { AppendDouble(number, out); }
  void operator()(nanoseconds duration) const {
    if (format == Format::kJson) out->push_back('"');
    AppendDuration(duration, out);
    if (format == Format::kJson) out->push_back('"');
  }
};

std::string JsonLine(Level level, system_clock::time_point time, std::string_view message, Fields fields) {
  std::string line = R"({"level":")";
  line.append(Name(level)).append(R"(","ts":")");
  AppendTime(time, &line);
  line.append(R"(","msg":)");
  AppendQuoted(message, &line);
  for (const Field& field : fields) {
    line.push_back(',');
    AppendQuoted(field.key, &line);
    line.push_back(':');
    std::visit(AppendValue{Format::kJson, &line}, field.value);
  }
  line.push_back('}');
  return line;
}

std::string TextLine(Level level, system_clock::time_point time, std::string_view message, Fields fields) {
  std::string line;
  AppendTime(time, &line);
  line.append(" ").append(PaddedName(level)).append(" ");
  AppendEscaped(message, false, &line);
  for (const Field& field : fields) {
    line.push_back(' ');
    AppendEscaped(field.key, false, &line);
    line.push_back('=');
    std::visit(AppendValue{Format::kText, &line}, field.value);
  }
  return line;
}

// ---- The way out ---------------------------------------------------------------------------------

spdlog::sink_ptr StderrSink() {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern("%v");
  return sink;
}

// Its lock serialises the lines and lets a test exchange where they go while others log.
spdlog::sinks::dist_sink_mt* Output() {
  static auto* const output = new spdlog::sinks::dist_sink_mt({StderrSink()});  // Outlives every thread.
  return output;
}

}  // namespace

namespace internal {

void Write(Level level, std::string_view message, Fields fields) {
  const std::string line =
      FormatLine(line_format.load(std::memory_order_relaxed), level, system_clock::now(), message, fields);
  Output()->log(spdlog::details::log_msg("", spdlog::level::info, line));
}

}  // namespace internal

void Configure(Format format, Level lowest) {
  line_format.store(format, std::memory_order_relaxed);
  internal::lowest_level.store(lowest, std::memory_order_relaxed);
}

std::string FormatLine(Format format, Level level, system_clock::time_point time, std::string_view message,
                       Fields fields) {
  return format == Format::kJson ? JsonLine(level, time, message, fields)
                                 : TextLine(level, time, message, fields);
}

class Capture::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> Lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines_.emplace_back(message.payload.data(), message.payload.size());
  }
  void flush_() override {}

  std::vector<std::string> lines_;  // Guarded by mutex_, which base_sink holds in sink_it_.
};

Capture::Capture() : sink_(std::make_shared<Sink>()) { Output()->set_sinks({sink_}); }
Capture::~Capture() { Output()->set_sinks({StderrSink()}); }
std::vector<std::string> Capture::Lines() const { return sink_->Lines(); }

}  // namespace kvist::log
