// etcdserverpb.KV, request bytes in, reply bytes out. RangeStream is in range_stream.h.

#ifndef KVIST_ETCDV3_KV_SERVICE_H_
#define KVIST_ETCDV3_KV_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "etcdv3/identity.h"
#include "etcdv3/reply_buffer.h"
#include "etcdv3/unary_call.h"
#include "kv/engine.h"

namespace kvist::etcdv3 {

// What etcd takes when it is told nothing else.
inline constexpr std::int64_t kDefaultTxnOpsMax = 128;
inline constexpr std::size_t kDefaultRequestBytesMax = 1536 * 1024;

struct KvServiceOptions {
  Identity identity;
  std::int64_t txn_ops_max = kDefaultTxnOpsMax;
  std::size_t request_bytes_max = kDefaultRequestBytesMax;  // of a write
  // Who leads a batch of writes: the caller only where its thread may wait for the storage.
  kv::Lead lead = kv::Lead::kWriterThread;
};

// Threads: every method may be called from any thread at any time.
class KvService final : private UnaryCall::WriteHandler {
 public:
  // `engine` is borrowed.
  KvService(kv::Engine* engine, const KvServiceOptions& options) : engine_(engine), options_(options) {}

  // Answers the bytes of a RangeRequest. On error `*reply` is unspecified. Allocates nothing once `*reply`
  // has grown to the size of its replies.
  absl::Status Range(std::string_view message, ReplyBuffer* reply);

  // Each answers `call`, before it returns or later. Errors have the codes and texts of etcd.
  void Range(UnaryCall* call);
  void Put(UnaryCall* call);
  void DeleteRange(UnaryCall* call);
  void Txn(UnaryCall* call);
  void Compact(UnaryCall* call);

 private:
  void OnWritten(UnaryCall* call) override;
  void Write(UnaryCall* call, const absl::Status& shape);
  absl::Status ReadOnlyTxn(const kv::TxnRequest& request, ReplyBuffer* reply);

  kv::Engine* const engine_;
  const KvServiceOptions options_;
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_KV_SERVICE_H_
