#include "kv/errors.h"

#include <string_view>

namespace kvist::kv {
namespace {
constexpr std::string_view kCompactedText = "mvcc: required revision has been compacted";
}  // namespace

absl::Status CompactedError() {
  return absl::OutOfRangeError({kCompactedText.data(), kCompactedText.size()});
}

absl::Status FutureRevisionError() {
  return absl::OutOfRangeError("mvcc: required revision is a future revision");
}

absl::Status LeaseNotFoundError() { return absl::NotFoundError("requested lease not found"); }

absl::Status KeyNotFoundError() { return absl::InvalidArgumentError("key not found"); }

absl::Status NoSpaceError() { return absl::ResourceExhaustedError("mvcc: database space exceeded"); }

absl::Status StoppedError() { return absl::UnavailableError("server stopped"); }

bool IsCompacted(const absl::Status& status) {
  return absl::IsOutOfRange(status) &&
         std::string_view(status.message().data(), status.message().size()) == kCompactedText;
}

}  // namespace kvist::kv
