// See go_duration.h.

#include "server/go_duration.h"

#include <cstdint>

namespace kvist::server {
namespace {

struct Unit {
  std::string_view name;
  double nanos;
};

constexpr Unit kUnits[] = {
    // Where one name begins another the longer comes first.
    {"ns", 1},   {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3},
    {"ms", 1e6}, {"s", 1e9},  {"m", 6e10},      {"h", 3.6e12},
};

constexpr double kNanosMax = 9.2e18;

// Takes a number with an optional fraction from the front of `*text`. False if there is none.
bool TakeNumber(std::string_view* text, double* number) {
  double value = 0;
  double scale = 1;
  bool any = false;
  bool fraction = false;
  while (!text->empty()) {
    const char c = text->front();
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      value = value * 10 + (c - '0');
      if (fraction) scale *= 10;
    } else {
      break;
    }
    text->remove_prefix(1);
  }
  *number = value / scale;
  return any;
}

const Unit* TakeUnit(std::string_view* text) {
  for (const Unit& unit : kUnits) {
    if (!text->starts_with(unit.name)) continue;
    text->remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

}  // namespace

std::optional<std::chrono::nanoseconds> ParseGoDuration(std::string_view text) {
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  double nanos = 0;
  while (!text.empty()) {
    double number = 0;
    if (!TakeNumber(&text, &number)) return std::nullopt;
    const Unit* unit = TakeUnit(&text);
    if (unit == nullptr) return std::nullopt;
    nanos += number * unit->nanos;
  }
  if (!(nanos < kNanosMax)) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(nanos + 0.5));
}

}  // namespace kvist::server
