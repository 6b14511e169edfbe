// The methods of the API by their full names, and who serves each. Every transport dispatches by this.

#ifndef KVIST_ETCDV3_METHOD_TABLE_H_
#define KVIST_ETCDV3_METHOD_TABLE_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "etcdv3/kv_service.h"
#include "etcdv3/status_service.h"
#include "etcdv3/stream_call.h"
#include "etcdv3/unary_call.h"
#include "etcdv3/watch_handler.h"
#include "watch/publisher.h"

namespace kvist::etcdv3 {

// Who answers. All are borrowed, and may be shared by transports.
struct Services {
  KvService* kv = nullptr;
  StatusService* status = nullptr;
  kv::Engine* engine = nullptr;  // for RangeStream
  watch::Publisher* publisher = nullptr;
  WatchOptions watch;
  std::size_t range_chunk_bytes = kDefaultRequestBytesMax;
};

// A method that is served: one of the two is set.
struct Method {
  void (*unary)(const Services& services, UnaryCall* call) = nullptr;
  std::unique_ptr<StreamHandler> (*stream)(const Services& services, StreamCall* call) = nullptr;
};

// The method served under `path`, e.g. "/etcdserverpb.KV/Range"; null if there is none.
[[nodiscard]] const Method* FindMethod(std::string_view path);

// The UNIMPLEMENTED error for a path that FindMethod does not know: it tells methods of the API that are
// not served yet from unknown methods, and those from unknown services.
[[nodiscard]] absl::Status WhyNotServed(std::string_view path);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_METHOD_TABLE_H_
