// Decoding by hand against the generated messages: what they write is read back, and mutilated bytes are
// judged and read as they judge and read them.

#include "etcdv3/convert.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "etcdv3/wire.h"
#include "proto/etcdserverpb.pb.h"

namespace kvist::etcdv3 {
namespace {

// Store requests back into messages, for comparison.
void ToMessage(const kv::RangeRequest& request, etcdserverpb::RangeRequest* out) {
  out->set_key(std::string(request.key));
  out->set_range_end(std::string(request.range_end));
  out->set_limit(request.limit);
  out->set_revision(request.revision);
  out->set_sort_order(static_cast<etcdserverpb::RangeRequest_SortOrder>(request.sort_order));
  out->set_sort_target(static_cast<etcdserverpb::RangeRequest_SortTarget>(request.sort_target));
  out->set_keys_only(request.keys_only);
  out->set_count_only(request.count_only);
  out->set_min_mod_revision(request.min_mod_revision);
  out->set_max_mod_revision(request.max_mod_revision);
  out->set_min_create_revision(request.min_create_revision);
  out->set_max_create_revision(request.max_create_revision);
}

void ToMessage(const kv::PutRequest& request, etcdserverpb::PutRequest* out) {
  out->set_key(std::string(request.key));
  out->set_value(std::string(request.value));
  out->set_lease(request.lease);
  out->set_prev_kv(request.prev_kv);
  out->set_ignore_value(request.ignore_value);
  out->set_ignore_lease(request.ignore_lease);
}

void ToMessage(const kv::DeleteRangeRequest& request, etcdserverpb::DeleteRangeRequest* out) {
  out->set_key(std::string(request.key));
  out->set_range_end(std::string(request.range_end));
  out->set_prev_kv(request.prev_kv);
}

void ToMessage(const kv::Compare& compare, etcdserverpb::Compare* out) {
  out->set_result(static_cast<etcdserverpb::Compare_CompareResult>(compare.result));
  out->set_target(static_cast<etcdserverpb::Compare_CompareTarget>(compare.target));
  out->set_key(std::string(compare.key));
  out->set_range_end(std::string(compare.range_end));
  switch (compare.target) {
    case kv::CompareTarget::kVersion:
      out->set_version(compare.number);
      break;
    case kv::CompareTarget::kCreate:
      out->set_create_revision(compare.number);
      break;
    case kv::CompareTarget::kMod:
      out->set_mod_revision(compare.number);
      break;
    case kv::CompareTarget::kLease:
      out->set_lease(compare.number);
      break;
    case kv::CompareTarget::kValue:
      out->set_value(std::string(compare.value));
      break;
  }
}

void ToMessage(const kv::TxnRequest& request, etcdserverpb::TxnRequest* out);

void ToMessage(const kv::Op& op, etcdserverpb::RequestOp* out) {
  if (IsEmptyOp(op)) return;
  if (const auto* range = std::get_if<kv::RangeRequest>(&op.request)) {
    ToMessage(*range, out->mutable_request_range());
  } else if (const auto* put = std::get_if<kv::PutRequest>(&op.request)) {
    ToMessage(*put, out->mutable_request_put());
  } else if (const auto* remove = std::get_if<kv::DeleteRangeRequest>(&op.request)) {
    ToMessage(*remove, out->mutable_request_delete_range());
  } else {
    ToMessage(std::get<kv::TxnRequest>(op.request), out->mutable_request_txn());
  }
}

void ToMessage(const kv::TxnRequest& request, etcdserverpb::TxnRequest* out) {
  for (const kv::Compare& compare : request.compare) ToMessage(compare, out->add_compare());
  for (const kv::Op& op : request.success) ToMessage(op, out->add_success());
  for (const kv::Op& op : request.failure) ToMessage(op, out->add_failure());
}

// A message as the store may see it: no unknown fields, no `serializable`, and the union of a compare only
// where it matches the target.
void Normalize(etcdserverpb::RangeRequest* request) { request->clear_serializable(); }

void Normalize(etcdserverpb::TxnRequest* txn);

void Normalize(etcdserverpb::RequestOp* op) {
  if (op->has_request_range()) Normalize(op->mutable_request_range());
  if (op->has_request_txn()) Normalize(op->mutable_request_txn());
}

void Normalize(etcdserverpb::TxnRequest* txn) {
  for (auto& compare : *txn->mutable_compare()) {
    kv::Compare plain;
    const std::string key = compare.key();
    const std::string end = compare.range_end();
    const std::string value = compare.value();
    plain.key = key;
    plain.range_end = end;
    plain.result = static_cast<kv::CompareResult>(compare.result());
    plain.target = static_cast<kv::CompareTarget>(compare.target());
    const int matching = 4 + static_cast<int>(compare.target());
    if (matching == static_cast<int>(compare.target_union_case())) {
      plain.number = compare.version() | compare.create_revision() | compare.mod_revision() | compare.lease();
      plain.value = value;
    }
    compare.Clear();
    ToMessage(plain, &compare);
  }
  for (auto& op : *txn->mutable_success()) Normalize(&op);
  for (auto& op : *txn->mutable_failure()) Normalize(&op);
}

std::string Text(etcdserverpb::TxnRequest message) {
  message.DiscardUnknownFields();
  Normalize(&message);
  return message.DebugString();
}

std::string DecodedText(std::string_view bytes) {
  kv::TxnRequest request;
  bool too_deep = false;
  if (!DecodeTxn(bytes, &request, &too_deep)) return "malformed";
  etcdserverpb::TxnRequest message;
  ToMessage(request, &message);
  return message.DebugString();
}

std::string ParsedText(const std::string& bytes) {
  etcdserverpb::TxnRequest message;
  return message.ParseFromString(bytes) ? Text(message) : "malformed";
}

// Random messages, with every field set now and then.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

  std::string Bytes() {
    std::string bytes(Below(6), '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

  std::int64_t Number() {
    const auto number = static_cast<std::int64_t>(random_());
    return Below(2) == 0 ? number >> Below(64) : static_cast<std::int64_t>(Below(3));
  }

  void Fill(etcdserverpb::RangeRequest* out) {
    out->set_key(Bytes());
    out->set_range_end(Bytes());
    out->set_limit(Number());
    out->set_revision(Number());
    out->set_sort_order(static_cast<etcdserverpb::RangeRequest_SortOrder>(Number()));
    out->set_sort_target(static_cast<etcdserverpb::RangeRequest_SortTarget>(Below(6)));
    out->set_serializable(Below(2) == 0);
    out->set_keys_only(Below(2) == 0);
    out->set_count_only(Below(2) == 0);
    out->set_min_mod_revision(Number());
    out->set_max_mod_revision(Number());
    out->set_min_create_revision(Number());
    out->set_max_create_revision(Number());
  }

  void Fill(etcdserverpb::PutRequest* out) {
    out->set_key(Bytes());
    out->set_value(Bytes());
    out->set_lease(Number());
    out->set_prev_kv(Below(2) == 0);
    out->set_ignore_value(Below(2) == 0);
    out->set_ignore_lease(Below(2) == 0);
  }

  void Fill(etcdserverpb::Compare* out) {
    out->set_result(static_cast<etcdserverpb::Compare_CompareResult>(Below(5)));
    out->set_target(static_cast<etcdserverpb::Compare_CompareTarget>(Below(6)));
    out->set_key(Bytes());
    out->set_range_end(Bytes());
    switch (Below(6)) {
      case 0:
        out->set_version(Number());
        break;
      case 1:
        out->set_create_revision(Number());
        break;
      case 2:
        out->set_mod_revision(Number());
        break;
      case 3:
        out->set_value(Bytes());
        break;
      case 4:
        out->set_lease(Number());
        break;
      default:
        break;
    }
  }

  void Fill(int depth, etcdserverpb::RequestOp* out) {
    switch (Below(5)) {
      case 0:
        Fill(out->mutable_request_range());
        break;
      case 1:
        Fill(out->mutable_request_put());
        break;
      case 2:
        out->mutable_request_delete_range()->set_key(Bytes());
        out->mutable_request_delete_range()->set_range_end(Bytes());
        out->mutable_request_delete_range()->set_prev_kv(Below(2) == 0);
        break;
      case 3:
        if (depth < 3) Fill(depth + 1, out->mutable_request_txn());
        break;
      default:
        break;
    }
  }

  void Fill(int depth, etcdserverpb::TxnRequest* out) {
    for (std::uint64_t n = Below(3); n > 0; --n) Fill(out->add_compare());
    for (std::uint64_t n = Below(4); n > 0; --n) Fill(depth, out->add_success());
    for (std::uint64_t n = Below(3); n > 0; --n) Fill(depth, out->add_failure());
  }

  // Changes, inserts or removes a byte, or doubles a part.
  void Mutilate(std::string* bytes) {
    if (bytes->empty()) return;
    const std::size_t at = Below(bytes->size());
    switch (Below(4)) {
      case 0:
        (*bytes)[at] = static_cast<char>(Below(256));
        break;
      case 1:
        bytes->insert(at, 1, static_cast<char>(Below(256)));
        break;
      case 2:
        bytes->erase(at, 1 + Below(3));
        break;
      default:
        bytes->insert(at, bytes->substr(at, Below(20)));
        break;
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(DecodeTest, ReadsWhatTheMessagesWrite) {
  Generator generator(1);
  for (int i = 0; i < 3000; ++i) {
    etcdserverpb::TxnRequest message;
    generator.Fill(0, &message);
    ASSERT_EQ(DecodedText(message.SerializeAsString()), Text(message)) << "message " << i;
  }
}

TEST(DecodeTest, JudgesMutilatedBytesAsTheMessagesDo) {
  Generator generator(2);
  int malformed = 0;
  for (int i = 0; i < 20000; ++i) {
    etcdserverpb::TxnRequest message;
    generator.Fill(0, &message);
    std::string bytes = message.SerializeAsString();
    for (std::uint64_t n = 1 + generator.Below(3); n > 0; --n) generator.Mutilate(&bytes);
    const std::string expected = ParsedText(bytes);
    ASSERT_EQ(DecodedText(bytes), expected) << "message " << i << ": " << testing::PrintToString(bytes);
    if (expected == "malformed") ++malformed;
  }
  EXPECT_GT(malformed, 1000);  // else the mutilation is too mild to mean anything
  EXPECT_LT(malformed, 19000);
}

TEST(DecodeTest, PutFieldsAreViewsIntoTheMessage) {
  etcdserverpb::PutRequest message;
  message.set_key("key");
  message.set_value("value");
  message.set_lease(-3);
  message.set_prev_kv(true);
  const std::string bytes = message.SerializeAsString();
  kv::PutRequest request;
  ASSERT_TRUE(DecodePut(bytes, &request));
  EXPECT_EQ(request.key, "key");
  EXPECT_EQ(request.value, "value");
  EXPECT_EQ(request.lease, -3);
  EXPECT_TRUE(request.prev_kv);
  EXPECT_FALSE(request.ignore_value);
  EXPECT_GE(request.value.data(), bytes.data());
  EXPECT_LE(request.value.data() + request.value.size(), bytes.data() + bytes.size());
}

TEST(DecodeTest, CompactAndDeleteRange) {
  etcdserverpb::CompactionRequest compaction;
  compaction.set_revision(-1);
  compaction.set_physical(true);
  kv::CompactRequest compact;
  ASSERT_TRUE(DecodeCompact(compaction.SerializeAsString(), &compact));
  EXPECT_EQ(compact.revision, -1);
  EXPECT_TRUE(compact.physical);
  EXPECT_FALSE(DecodeCompact("\x08", &compact));

  etcdserverpb::DeleteRangeRequest message;
  message.set_key("a");
  message.set_range_end(std::string(1, '\0'));
  const std::string bytes = message.SerializeAsString();
  kv::DeleteRangeRequest request;
  ASSERT_TRUE(DecodeDeleteRange(bytes, &request));
  EXPECT_EQ(request.key, "a");
  EXPECT_EQ(request.range_end, std::string_view("\0", 1));
  EXPECT_FALSE(request.prev_kv);
}

TEST(DecodeTest, TxnKeepsNothingOfTheOneBefore) {
  etcdserverpb::TxnRequest message;
  message.add_success()->mutable_request_put()->set_key("k");
  message.add_compare()->set_key("c");
  kv::TxnRequest request;
  bool too_deep = false;
  ASSERT_TRUE(DecodeTxn(message.SerializeAsString(), &request, &too_deep));
  ASSERT_TRUE(DecodeTxn("", &request, &too_deep));
  EXPECT_TRUE(request.compare.empty());
  EXPECT_TRUE(request.success.empty());
  EXPECT_TRUE(request.failure.empty());
}

// `depth` Txns, each the only operation of the one around it.
std::string NestedTxns(int depth) {
  std::string bytes;
  for (int i = 0; i < depth; ++i) {
    std::string op;
    AppendBytesField(4, bytes, &op);
    bytes.clear();
    AppendBytesField(2, op, &bytes);
  }
  return bytes;
}

TEST(DecodeTest, NestingIsBounded) {
  kv::TxnRequest request;
  bool too_deep = true;
  EXPECT_TRUE(DecodeTxn(NestedTxns(kTxnDepthMax), &request, &too_deep));
  EXPECT_FALSE(too_deep);
  EXPECT_FALSE(DecodeTxn(NestedTxns(kTxnDepthMax + 1), &request, &too_deep));
  EXPECT_TRUE(too_deep);
  EXPECT_FALSE(DecodeTxn("\x12\x05x", &request, &too_deep));
  EXPECT_FALSE(too_deep) << "malformed is another thing";
}

TEST(DecodeWatchTest, Create) {
  etcdserverpb::WatchRequest message;
  auto* create = message.mutable_create_request();
  create->set_key("k");
  create->set_range_end("l");
  create->set_start_revision(7);
  create->set_progress_notify(true);
  create->set_prev_kv(true);
  create->set_watch_id(9);
  create->set_fragment(true);
  create->add_filters(etcdserverpb::WatchCreateRequest::NODELETE);
  create->add_filters(static_cast<etcdserverpb::WatchCreateRequest_FilterType>(5));
  const std::string bytes = message.SerializeAsString();
  WatchCommand command;
  ASSERT_TRUE(DecodeWatch(bytes, &command));
  const auto& request = std::get<watch::WatchRequest>(command);
  EXPECT_EQ(request.key, "k");
  EXPECT_EQ(request.range_end, "l");
  EXPECT_EQ(request.start_revision, 7);
  EXPECT_EQ(request.watch_id, 9);
  EXPECT_TRUE(request.progress_notify);
  EXPECT_TRUE(request.prev_kv);
  EXPECT_TRUE(request.fragment);
  EXPECT_FALSE(request.no_put);
  EXPECT_TRUE(request.no_delete);
}

TEST(DecodeWatchTest, FiltersMayComeUnpacked) {
  WatchCommand command;
  ASSERT_TRUE(DecodeWatch(std::string("\x0a\x04\x28\x00\x28\x01", 6), &command));
  EXPECT_TRUE(std::get<watch::WatchRequest>(command).no_put);
  EXPECT_TRUE(std::get<watch::WatchRequest>(command).no_delete);
}

TEST(DecodeWatchTest, TheLastFieldOfTheUnionHolds) {
  etcdserverpb::WatchRequest message;
  message.mutable_cancel_request()->set_watch_id(-4);
  WatchCommand command;
  ASSERT_TRUE(DecodeWatch(message.SerializeAsString(), &command));
  EXPECT_EQ(std::get<WatchCancel>(command).watch_id, -4);
  ASSERT_TRUE(DecodeWatch(message.SerializeAsString() + std::string("\x1a\x00", 2), &command));
  EXPECT_TRUE(std::holds_alternative<WatchProgress>(command));
}

TEST(DecodeWatchTest, NothingAndGarbage) {
  WatchCommand command;
  ASSERT_TRUE(DecodeWatch("", &command));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(command));
  EXPECT_FALSE(DecodeWatch("\x0a\x05k", &command));
  EXPECT_FALSE(DecodeWatch("\x1a\x01\xff", &command));
  EXPECT_FALSE(DecodeWatch("\x0a\x03\x2a\x01\xff", &command));  // a packed filter that breaks off
}

}  // namespace
}  // namespace kvist::etcdv3
