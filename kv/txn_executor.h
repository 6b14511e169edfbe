// Executes one writing Txn within a batch: all of it or nothing.

#ifndef KVIST_KV_TXN_EXECUTOR_H_
#define KVIST_KV_TXN_EXECUTOR_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "kv/batch.h"
#include "kv/types.h"

namespace kvist::kv {

// Every condition, nested ones included, is evaluated on the state before the Txn, and so is whatever may
// fail in the branches taken. Only then are operations applied, which see one another's effects.
class TxnExecutor {
 public:
  // `batch` and `txn` are borrowed.
  TxnExecutor(Batch* batch, const TxnRequest& txn) : batch_(batch), txn_(txn) {}

  absl::Status Execute(TxnResult* result);

 private:
  // Fills branch_taken_, for the Txn and then those nested in its taken branch, depth first.
  void Evaluate(const TxnRequest& txn);
  absl::Status Check(const TxnRequest& txn);
  absl::Status CheckOp(const RangeRequest& range) const;
  absl::Status CheckOp(const PutRequest& put) const { return batch_->CheckPut(put); }
  absl::Status CheckOp(const DeleteRangeRequest&) const { return absl::OkStatus(); }
  absl::Status CheckOp(const TxnRequest& txn) { return Check(txn); }
  absl::Status Apply(const TxnRequest& txn, TxnResult* result);
  absl::Status ApplyOp(const RangeRequest& range, OpResult* result);
  absl::Status ApplyOp(const PutRequest& put, OpResult* result);
  absl::Status ApplyOp(const DeleteRangeRequest& request, OpResult* result);
  absl::Status ApplyOp(const TxnRequest& txn, OpResult* result);

  // The branch taken by the next Txn in depth-first order.
  const std::vector<Op>& NextBranch(const TxnRequest& txn, bool* succeeded);

  Batch* const batch_;
  const TxnRequest& txn_;
  std::vector<bool> branch_taken_;
  std::size_t next_branch_ = 0;
};

}  // namespace kvist::kv

#endif  // KVIST_KV_TXN_EXECUTOR_H_
