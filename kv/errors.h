// The errors of the store, with etcd's texts, and how to tell them apart.

#ifndef KVIST_KV_ERRORS_H_
#define KVIST_KV_ERRORS_H_

#include "absl/status/status.h"

namespace kvist::kv {

absl::Status CompactedError();       // OUT_OF_RANGE  mvcc: required revision has been compacted
absl::Status FutureRevisionError();  // OUT_OF_RANGE  mvcc: required revision is a future revision
absl::Status LeaseNotFoundError();   // NOT_FOUND  requested lease not found
absl::Status KeyNotFoundError();     // INVALID_ARGUMENT  key not found
absl::Status NoSpaceError();         // RESOURCE_EXHAUSTED  mvcc: database space exceeded
absl::Status StoppedError();         // UNAVAILABLE  server stopped

[[nodiscard]] bool IsCompacted(const absl::Status& status);

}  // namespace kvist::kv

#endif  // KVIST_KV_ERRORS_H_
