#include "kv/txn_executor.h"

#include <variant>

#include "kv/compare.h"
#include "kv/errors.h"

namespace kvist::kv {

absl::Status TxnExecutor::Execute(TxnResult* result) {
  Evaluate(txn_);
  if (absl::Status status = Check(txn_); !status.ok()) return status;
  next_branch_ = 0;
  if (absl::Status status = Apply(txn_, result); !status.ok()) return status;
  result->revision = batch_->ShownRevision();
  return absl::OkStatus();
}

void TxnExecutor::Evaluate(const TxnRequest& txn) {
  const auto records = [this](RevisionKey revision) { return batch_->FindRecord(revision); };
  bool succeeded = false;
  {
    ReaderLock lock(&batch_->index_->mu);
    succeeded = AllHold(txn.compare, batch_->index_->keys, kNewest, records);
  }
  branch_taken_.push_back(succeeded);
  for (const Op& op : succeeded ? txn.success : txn.failure) {
    if (const auto* nested = std::get_if<TxnRequest>(&op.request)) Evaluate(*nested);
  }
}

const std::vector<Op>& TxnExecutor::NextBranch(const TxnRequest& txn, bool* succeeded) {
  *succeeded = branch_taken_[next_branch_++];
  return *succeeded ? txn.success : txn.failure;
}

absl::Status TxnExecutor::Check(const TxnRequest& txn) {
  bool succeeded = false;
  for (const Op& op : NextBranch(txn, &succeeded)) {
    absl::Status status = std::visit([this](const auto& request) { return CheckOp(request); }, op.request);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TxnExecutor::CheckOp(const RangeRequest& range) const {
  if (range.revision == 0) return absl::OkStatus();
  return CheckReadable(range.revision, batch_->last_revision_, batch_->CompactedRevision());
}

absl::Status TxnExecutor::Apply(const TxnRequest& txn, TxnResult* result) {
  const std::vector<Op>& branch = NextBranch(txn, &result->succeeded);
  result->responses.resize(branch.size());
  for (std::size_t i = 0; i < branch.size(); ++i) {
    absl::Status status = std::visit(
        [&](const auto& request) { return ApplyOp(request, &result->responses[i]); }, branch[i].request);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TxnExecutor::ApplyOp(const RangeRequest& range, OpResult* result) {
  return batch_->Range(range, &result->result.emplace<RangeResult>());
}

absl::Status TxnExecutor::ApplyOp(const PutRequest& put, OpResult* result) {
  return batch_->Put(put, &result->result.emplace<PutResult>());
}

absl::Status TxnExecutor::ApplyOp(const DeleteRangeRequest& request, OpResult* result) {
  return batch_->DeleteRange(request, &result->result.emplace<DeleteRangeResult>());
}

absl::Status TxnExecutor::ApplyOp(const TxnRequest& txn, OpResult* result) {
  return Apply(txn, &result->result.emplace<TxnResult>());
}

}  // namespace kvist::kv
