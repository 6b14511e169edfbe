// Txns that put a key twice, or do too much, on every level of nesting; and those close by that are allowed.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bad_input/fixture.h"

namespace kvist::blackbox {
namespace {

using grpc::StatusCode;

constexpr char kDuplicate[] = "etcdserver: duplicate key given in txn request";
constexpr char kTooMany[] = "etcdserver: too many operations in txn request";
constexpr int kMaxOps = 128;

// The text of an operation.
std::string PutOp(const std::string& key) { return absl::StrCat("request_put { key: '", key, "' }"); }
std::string DeleteOp(const std::string& key, const std::string& range_end) {
  return absl::StrCat("request_delete_range { key: '", key, "' range_end: '", range_end, "' }");
}
std::string DeleteOp(const std::string& key) { return DeleteOp(key, ""); }
std::string TxnOp(const std::string& content) { return absl::StrCat("request_txn { ", content, " }"); }
std::string Then(const std::string& op) { return absl::StrCat("success { ", op, " } "); }
std::string Else(const std::string& op) { return absl::StrCat("failure { ", op, " } "); }

class TxnTest : public BadInputTest {
 protected:
  void ExpectDuplicate(const std::string& text) {
    EXPECT_TRUE(
        Refused(Txn(FromText<etcdserverpb::TxnRequest>(text)), StatusCode::INVALID_ARGUMENT, kDuplicate))
        << text;
  }
  void ExpectAllowed(const std::string& text) {
    const grpc::Status status = Txn(FromText<etcdserverpb::TxnRequest>(text));
    EXPECT_TRUE(status.ok()) << Describe(status) << " for " << text;
    Wrote();
  }
};

TEST_F(TxnTest, DuplicatesOnOneLevel) {
  ExpectDuplicate(Then(PutOp("k")) + Then(PutOp("k")));
  ExpectDuplicate(Else(PutOp("k")) + Else(PutOp("k")));
  ExpectDuplicate(Then(PutOp("k")) + Then(DeleteOp("k")));
  ExpectDuplicate(Then(DeleteOp("k")) + Then(PutOp("k")));
  ExpectDuplicate(Then(PutOp("k")) + Then(DeleteOp("a", "z")));
  ExpectDuplicate(Then(DeleteOp("k", "l")) + Then(PutOp("k")));
}

TEST_F(TxnTest, NoDuplicatesOnOneLevel) {
  ExpectAllowed(Then(PutOp("k")) + Else(PutOp("k")));
  ExpectAllowed(Then(PutOp("k")) + Then(PutOp("k2")));
  ExpectAllowed(Then(DeleteOp("k")) + Then(DeleteOp("k")) + Then(DeleteOp("a", "z")));
  ExpectAllowed(Then(PutOp("k")) + Then(DeleteOp("a", "k")));
  ExpectAllowed(Then(PutOp("k")) + Then("request_range { key: 'k' }"));
  ExpectAllowed(Then(PutOp("k")) + Then(DeleteOp("z", "a")));
  // A delete with no end is overlooked, and both happen in their order.
  ExpectAllowed(Then(PutOp("k")) + Then(DeleteOp("a", "\\000")));
}

TEST_F(TxnTest, DuplicatesAcrossLevels) {
  ExpectDuplicate(Then(PutOp("k")) + Then(TxnOp(Then(PutOp("k")))));
  ExpectDuplicate(Then(TxnOp(Then(PutOp("k")))) + Then(PutOp("k")));
  ExpectDuplicate(Then(PutOp("k")) + Then(TxnOp(Else(PutOp("k")))));
  ExpectDuplicate(Then(DeleteOp("k")) + Then(TxnOp(Then(PutOp("k")))));
  ExpectDuplicate(Then(TxnOp(Then(DeleteOp("k")))) + Then(PutOp("k")));
  ExpectDuplicate(Then(TxnOp(Then(TxnOp(Then(PutOp("k")))))) + Then(PutOp("k")));
  ExpectDuplicate(Then(TxnOp(Else(TxnOp(Else(PutOp("k")))))) + Then(TxnOp(Then(TxnOp(Then(PutOp("k")))))));
  ExpectDuplicate(Else(TxnOp(Then(TxnOp(Then(PutOp("k")) + Then(PutOp("k")))))));
}

TEST_F(TxnTest, DuplicatesAmongSiblings) {
  ExpectDuplicate(Then(TxnOp(Then(PutOp("k")))) + Then(TxnOp(Then(PutOp("k")))));
  ExpectDuplicate(Then(TxnOp(Then(PutOp("k")))) + Then(TxnOp(Else(PutOp("k")))));
  // The order of siblings counts: what is deleted first may not be put, what is put first may be deleted.
  ExpectDuplicate(Then(TxnOp(Then(DeleteOp("k")))) + Then(TxnOp(Then(PutOp("k")))));
  ExpectAllowed(Then(TxnOp(Then(PutOp("k")))) + Then(TxnOp(Then(DeleteOp("k")))));
  // The two branches of one Txn never both happen.
  ExpectAllowed(Then(TxnOp(Then(PutOp("k")) + Else(PutOp("k")))));
  ExpectAllowed(Then(TxnOp(Then(PutOp("k")) + Else(DeleteOp("k")))));
}

TEST_F(TxnTest, EmptyOperations) {
  for (const std::string& text : {Then(""), Else(""), Then(TxnOp(Else("")))}) {
    EXPECT_TRUE(Refused(Txn(FromText<etcdserverpb::TxnRequest>(text)), StatusCode::INVALID_ARGUMENT,
                        "etcdserver: key not found"))
        << text;
  }
}

std::string Puts(int n, const std::string& prefix) {
  std::string text;
  for (int i = 0; i < n; ++i) text += Then(PutOp(absl::StrCat(prefix, i)));
  return text;
}

TEST_F(TxnTest, TooManyOperations) {
  const auto too_many = [this](const std::string& text) {
    return Refused(Txn(FromText<etcdserverpb::TxnRequest>(text)), StatusCode::INVALID_ARGUMENT, kTooMany);
  };
  EXPECT_TRUE(too_many(Puts(kMaxOps + 1, "p")));
  std::string compares;
  for (int i = 0; i <= kMaxOps; ++i) compares += "compare { key: 'k' } ";
  EXPECT_TRUE(too_many(compares));
  // What the parent uses, its children cannot: 100 of 128 leave 28.
  EXPECT_TRUE(too_many(Puts(99, "p") + Then(TxnOp(Puts(29, "q")))));
  EXPECT_TRUE(too_many(Puts(kMaxOps - 1, "p") + Then(TxnOp(Puts(1, "q")))));
  ExpectAllowed(Puts(kMaxOps, "p"));
  ExpectAllowed(Puts(99, "p") + Then(TxnOp(Puts(28, "q"))));
  ExpectAllowed(Puts(kMaxOps - 1, "p") + Then(TxnOp("")));
}

}  // namespace
}  // namespace kvist::blackbox
