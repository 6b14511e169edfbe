// Durations as Go writes them, which etcd's flags take: "300ms", "1.5h", "2h45m".

#ifndef KVIST_SERVER_GO_DURATION_H_
#define KVIST_SERVER_GO_DURATION_H_

#include <chrono>
#include <optional>
#include <string_view>

namespace kvist::server {

// Nothing if `text` is not a duration that is zero or more, or does not fit.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseGoDuration(std::string_view text);

}  // namespace kvist::server

#endif  // KVIST_SERVER_GO_DURATION_H_
