// See grpc_message.h.

#include "etcdv3/grpc_message.h"

#include <grpc/slice.h>

#include <cstring>
#include <memory>
#include <utility>

namespace kvist::etcdv3 {
namespace {

// From here on handing storage over is cheaper than copying it; below, one buffer is used again and again.
constexpr std::size_t kReplyCopyBytesMax = 64 * 1024;

// From here on a message with a slice more is cheaper than a copy.
constexpr std::size_t kTailCopyBytesMax = 2 * 1024;

// A slice over `bytes` that keeps `owner` until gRPC is done with it.
template <typename Owner>
grpc::Slice OwningSlice(std::string_view bytes, std::unique_ptr<Owner> owner) {
  const auto destroy = [](void* data) { delete static_cast<Owner*>(data); };
  // gRPC's signature takes mutable bytes and does not write them.
  void* data = const_cast<char*>(bytes.data());
  return grpc::Slice(grpc_slice_new_with_user_data(data, bytes.size(), destroy, owner.release()),
                     grpc::Slice::STEAL_REF);
}

grpc::Slice CopySlice(std::string_view head, std::string_view tail) {
  grpc_slice slice = grpc_slice_malloc(head.size() + tail.size());
  unsigned char* out = GRPC_SLICE_START_PTR(slice);
  std::memcpy(out, head.data(), head.size());
  if (!tail.empty()) std::memcpy(out + head.size(), tail.data(), tail.size());
  return grpc::Slice(slice, grpc::Slice::STEAL_REF);
}

grpc::Slice ToSlice(ReplyBuffer* reply, std::string_view tail) {
  const std::string_view bytes = reply->bytes();
  if (bytes.size() <= kReplyCopyBytesMax) return CopySlice(bytes, tail);
  reply->body().append(tail);
  std::size_t offset = 0;
  auto storage = std::make_unique<std::string>(reply->Release(&offset));
  const std::string_view released = std::string_view(*storage).substr(offset);
  return OwningSlice(released, std::move(storage));
}

}  // namespace

std::string_view Contiguous(const grpc::ByteBuffer& message, grpc::Slice* slice) {
  if (!message.TrySingleSlice(slice).ok() && !message.DumpToSingleSlice(slice).ok()) return {};
  return {reinterpret_cast<const char*>(slice->begin()), slice->size()};
}

grpc::ByteBuffer ToByteBuffer(ReplyBuffer* reply, const SharedBytes& tail) {
  if (tail.bytes.size() <= kTailCopyBytesMax) {
    const grpc::Slice slice = ToSlice(reply, tail.bytes);
    return grpc::ByteBuffer(&slice, 1);
  }
  const grpc::Slice slices[2] = {
      ToSlice(reply, {}), OwningSlice(tail.bytes, std::make_unique<std::shared_ptr<const void>>(tail.owner))};
  return grpc::ByteBuffer(slices, 2);
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  const absl::string_view text = status.message();
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(text.data(), text.size()));
}

std::string_view PeerHost(std::string_view peer) {
  constexpr std::string_view kIpv6Open = "ipv6:%5B";
  constexpr std::string_view kIpv6Close = "%5D:";
  constexpr std::string_view kIpv4 = "ipv4:";
  if (peer.starts_with("unix:")) return peer.substr(0, 4);
  if (peer.starts_with(kIpv4)) {
    peer.remove_prefix(kIpv4.size());
    return peer.substr(0, peer.rfind(':'));
  }
  const std::size_t close = peer.rfind(kIpv6Close);
  if (peer.starts_with(kIpv6Open) && close != std::string_view::npos) {
    return peer.substr(kIpv6Open.size(), close - kIpv6Open.size());
  }
  return peer;
}

}  // namespace kvist::etcdv3
