#include "kv/engine.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"

namespace kvist::kv {
namespace {

// A write whose submitter waits for it.
class BlockingWrite final : public Write {
 public:
  // Signals with the mutex held: the waiter may destroy this as soon as it can take the mutex.
  void Done() override {
    MutexLock lock(&mu_);
    done_ = true;
    done_changed_.Signal();
  }

  void Wait() {
    MutexLock lock(&mu_);
    while (!done_) done_changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar done_changed_;
  bool done_ GUARDED_BY(mu_) = false;
};

template <typename ResultType, typename RequestType>
absl::StatusOr<ResultType> SubmitAndWait(Engine* engine, const RequestType& request, std::string_view actor) {
  BlockingWrite write;
  write.request = request;
  write.actor = actor;
  engine->Submit(&write, Lead::kCaller);
  write.Wait();
  if (!write.status.ok()) return std::move(write.status);
  return std::get<ResultType>(std::move(write.result));
}

bool AllRanges(const std::vector<Op>& ops) {
  return std::all_of(ops.begin(), ops.end(),
                     [](const Op& op) { return std::holds_alternative<RangeRequest>(op.request); });
}

}  // namespace

absl::StatusOr<PutResult> Engine::Put(const PutRequest& request, std::string_view actor) {
  return SubmitAndWait<PutResult>(this, request, actor);
}

absl::StatusOr<DeleteRangeResult> Engine::DeleteRange(const DeleteRangeRequest& request,
                                                      std::string_view actor) {
  return SubmitAndWait<DeleteRangeResult>(this, request, actor);
}

absl::StatusOr<TxnResult> Engine::Txn(const TxnRequest& request, std::string_view actor) {
  return SubmitAndWait<TxnResult>(this, request, actor);
}

absl::StatusOr<CompactResult> Engine::Compact(const CompactRequest& request) {
  return SubmitAndWait<CompactResult>(this, request, {});
}

bool IsReadOnly(const TxnRequest& request) {
  return AllRanges(request.success) && AllRanges(request.failure);
}

}  // namespace kvist::kv
