// The errors that the front door itself gives, with etcd's texts, which clients compare byte for byte.

#ifndef KVIST_ETCDV3_ERRORS_H_
#define KVIST_ETCDV3_ERRORS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace kvist::etcdv3 {

// INVALID_ARGUMENT
absl::Status EmptyKeyError();           // etcdserver: key is not provided
absl::Status EmptyOpError();            // etcdserver: key not found
absl::Status InvalidSortOptionError();  // etcdserver: invalid sort option
absl::Status ValueProvidedError();      // etcdserver: value is provided
absl::Status LeaseProvidedError();      // etcdserver: lease is provided
absl::Status TooManyOpsError();         // etcdserver: too many operations in txn request
absl::Status DuplicateKeyError();       // etcdserver: duplicate key given in txn request
absl::Status RequestTooLargeError();    // etcdserver: request is too large

// UNAVAILABLE  etcdserver: server stopped
absl::Status ServerStoppedError();

// INTERNAL  The bytes of a request are not a message of the method.
absl::Status MalformedRequestError();  // of a unary call
absl::Status MalformedMessageError();  // of a stream

// UNKNOWN  EOF  The client ended a call that takes one message without sending it.
absl::Status MissingMessageError();

// RESOURCE_EXHAUSTED  grpc: received message larger than max (`size` vs. `max`)
absl::Status MessageTooLargeError(std::size_t size, std::size_t max);

// UNIMPLEMENTED, for a method path such as "/etcdserverpb.KV/Range".
absl::Status NotYetImplementedError(std::string_view path);
absl::Status UnknownMethodError(std::string_view path);   // unknown method M for service S
absl::Status UnknownServiceError(std::string_view path);  // unknown service S; malformed method name: "path"

// An error of the engine as the client is to see it: the same code, "etcdserver: " before the text.
absl::Status FromEngine(const absl::Status& status);

// The parts of "/service/method"; both empty if `path` is not of that form.
struct MethodPath {
  std::string_view service;
  std::string_view method;
};
[[nodiscard]] MethodPath SplitMethodPath(std::string_view path);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_ERRORS_H_
