// gRPC's byte buffers and statuses <-> ours.

#ifndef KVIST_ETCDV3_GRPC_MESSAGE_H_
#define KVIST_ETCDV3_GRPC_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "etcdv3/reply_buffer.h"
#include "etcdv3/stream_call.h"

namespace kvist::etcdv3 {

// The bytes of a received message in one piece: `*slice` holds them. Copies only if they came in several.
[[nodiscard]] std::string_view Contiguous(const grpc::ByteBuffer& message, grpc::Slice* slice);

// The reply as gRPC sends it, followed by `tail` if that is not empty. Small pieces are copied; a large
// reply gives its storage away and a large tail is shared.
[[nodiscard]] grpc::ByteBuffer ToByteBuffer(ReplyBuffer* reply, const SharedBytes& tail = {});

[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);

// The host of a peer as gRPC names it: "ipv4:10.0.0.7:51234" -> "10.0.0.7", "ipv6:%5B::1%5D:51234" -> "::1",
// "unix:" -> "unix". A view into `peer`; what has another form is returned as it is.
[[nodiscard]] std::string_view PeerHost(std::string_view peer);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_GRPC_MESSAGE_H_
