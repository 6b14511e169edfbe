// See errors.h.

#include "etcdv3/errors.h"

#include <string>

namespace kvist::etcdv3 {
namespace {

absl::Status Error(absl::StatusCode code, const std::string& text) { return absl::Status(code, text); }

absl::Status Invalid(const char* text) { return absl::InvalidArgumentError(text); }

}  // namespace

absl::Status EmptyKeyError() { return Invalid("etcdserver: key is not provided"); }
absl::Status EmptyOpError() { return Invalid("etcdserver: key not found"); }
absl::Status InvalidSortOptionError() { return Invalid("etcdserver: invalid sort option"); }
absl::Status ValueProvidedError() { return Invalid("etcdserver: value is provided"); }
absl::Status LeaseProvidedError() { return Invalid("etcdserver: lease is provided"); }
absl::Status TooManyOpsError() { return Invalid("etcdserver: too many operations in txn request"); }
absl::Status DuplicateKeyError() { return Invalid("etcdserver: duplicate key given in txn request"); }
absl::Status RequestTooLargeError() { return Invalid("etcdserver: request is too large"); }

absl::Status ServerStoppedError() { return absl::UnavailableError("etcdserver: server stopped"); }

absl::Status MalformedRequestError() {
  return absl::InternalError(
      "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data");
}

absl::Status MalformedMessageError() {
  return absl::InternalError(
      "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data");
}

absl::Status MissingMessageError() { return absl::UnknownError("EOF"); }

absl::Status MessageTooLargeError(std::size_t size, std::size_t max) {
  return Error(absl::StatusCode::kResourceExhausted, "grpc: received message larger than max (" +
                                                         std::to_string(size) + " vs. " +
                                                         std::to_string(max) + ")");
}

absl::Status NotYetImplementedError(std::string_view path) {
  const MethodPath parts = SplitMethodPath(path);
  return Error(absl::StatusCode::kUnimplemented, "method " + std::string(parts.method) + " of service " +
                                                     std::string(parts.service) +
                                                     " is not implemented by this version of kvist");
}

absl::Status UnknownMethodError(std::string_view path) {
  const MethodPath parts = SplitMethodPath(path);
  return Error(absl::StatusCode::kUnimplemented,
               "unknown method " + std::string(parts.method) + " for service " + std::string(parts.service));
}

absl::Status UnknownServiceError(std::string_view path) {
  const std::string service(SplitMethodPath(path).service);
  const std::string text =
      service.empty() ? "malformed method name: \"" + std::string(path) + "\"" : "unknown service " + service;
  return Error(absl::StatusCode::kUnimplemented, text);
}

absl::Status FromEngine(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::string_view text = status.message();
  return Error(status.code(), "etcdserver: " + std::string(text.data(), text.size()));
}

MethodPath SplitMethodPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (path.empty() || path.front() != '/' || slash == 0) return {};
  return {path.substr(1, slash - 1), path.substr(slash + 1)};
}

}  // namespace kvist::etcdv3
