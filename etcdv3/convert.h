// Requests of the etcd API -> requests of the store, straight from the wire: keys and values are views
// into the message, so decoding a request copies nothing and, a Txn apart, allocates nothing.
//
// Decoding accepts what a protobuf parser accepts: unknown fields and fields of another wire type are
// ignored, of a repeated scalar the last one holds, a repeated message field is merged. Whether the
// request makes sense is the business of validate.h.

#ifndef KVIST_ETCDV3_CONVERT_H_
#define KVIST_ETCDV3_CONVERT_H_

#include <string_view>
#include <variant>

#include "kv/types.h"
#include "watch/delivery.h"

namespace kvist::etcdv3 {

// A Txn nested deeper than this is refused, so that recursion over it is bounded.
inline constexpr int kTxnDepthMax = 500;

// Each decodes `message`, which must outlive the views in `*request`, into `*request`, which must be as
// newly made (DecodeTxn clears it itself and keeps the capacity of its lists). False if malformed;
// `*request` is then unspecified.
[[nodiscard]] bool DecodeRange(std::string_view message, kv::RangeRequest* request);
[[nodiscard]] bool DecodePut(std::string_view message, kv::PutRequest* request);
[[nodiscard]] bool DecodeDeleteRange(std::string_view message, kv::DeleteRangeRequest* request);
// `*too_deep`: it is refused for its nesting alone.
[[nodiscard]] bool DecodeTxn(std::string_view message, kv::TxnRequest* request, bool* too_deep);
[[nodiscard]] bool DecodeCompact(std::string_view message, kv::CompactRequest* request);

// Whether `message` is one at all, for requests of which no field matters.
[[nodiscard]] bool IsMessage(std::string_view message);

// What an AlarmRequest asks for.
enum class AlarmAction { kGet = 0, kActivate = 1, kDeactivate = 2 };
[[nodiscard]] bool DecodeAlarmAction(std::string_view message, AlarmAction* action);

// What a message on a Watch stream asks for.
struct WatchCancel {
  watch::WatchId watch_id = 0;
};
struct WatchProgress {};
// The first alternative stands for a message that asks for nothing.
using WatchCommand = std::variant<std::monostate, watch::WatchRequest, WatchCancel, WatchProgress>;

[[nodiscard]] bool DecodeWatch(std::string_view message, WatchCommand* command);

// Whether a decoded operation had none of the fields it may have. The store has no such operation: it is
// a RangeRequest with neither a key nor a count, which no message can ask for.
[[nodiscard]] bool IsEmptyOp(const kv::Op& op);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_CONVERT_H_
