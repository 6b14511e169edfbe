// Replies written by hand, read back by the generated messages; and the ids, headers and buffers they use.

#include "etcdv3/encode.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "etcdv3/errors.h"
#include "etcdv3/grpc_message.h"
#include "etcdv3/wire.h"
#include "kv/key_value.h"
#include "proto/etcdserverpb.pb.h"

namespace kvist::etcdv3 {
namespace {

constexpr Identity kIdentity{
    .cluster_id = 0xcdf818194e3a8c32, .member_id = 0x8e9e05c52164694d, .raft_term = 2};

constexpr char kHeader7[] =
    "header { cluster_id: 14841639068965178418 member_id: 10276657743932975437 "
    "revision: 7 raft_term: 2 }";

template <typename Message>
std::string Parsed(const ReplyBuffer& reply) {
  Message message;
  if (!message.ParseFromString(std::string(reply.bytes()))) return "malformed";
  const std::string text = message.ShortDebugString();
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string Pair(int field, std::string_view key, std::string_view value) {
  kv::KeyValueView pair;
  pair.key = key;
  pair.create_revision = 2;
  pair.mod_revision = 3;
  pair.version = 1;
  pair.value = value;
  std::string bytes;
  kv::AppendKeyValue(pair, &bytes);
  if (field == 0) return bytes;
  std::string out;
  AppendBytesField(field, bytes, &out);
  return out;
}

TEST(IdentityTest, IsWhatEtcdDerivesFromItsDefaults) {
  const Identity identity = MakeIdentity({kDefaultPeerUrl}, kDefaultClusterToken, 1);
  EXPECT_EQ(identity.member_id, 0x8e9e05c52164694dU);
  EXPECT_EQ(identity.cluster_id, 0xcdf818194e3a8c32U);
  EXPECT_EQ(identity.raft_term, 2U);
  EXPECT_EQ(MakeIdentity({"b", "a"}, "t", 4).member_id, MakeIdentity({"a", "b"}, "t", 4).member_id);
  EXPECT_EQ(MakeIdentity({"a"}, "t", 4).raft_term, 5U);
}

TEST(EncodeTest, Range) {
  ReplyBuffer reply;
  kv::RangeResult result;
  result.revision = 7;
  result.count = 5;
  result.more = true;
  reply.body() += Pair(2, "k", "v");
  FinishRangeReply(kIdentity, result, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::RangeResponse>(reply),
            std::string(kHeader7) +
                " kvs { key: \"k\" create_revision: 2 mod_revision: 3 version: 1 value: "
                "\"v\" } more: true count: 5");
}

TEST(EncodeTest, Put) {
  ReplyBuffer reply;
  kv::PutResult result;
  result.revision = 7;
  EncodePut(kIdentity, result, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::PutResponse>(reply), kHeader7);
  reply.Clear();
  result.has_prev_kv = true;
  result.prev_kv = Pair(0, "k", "old");
  EncodePut(kIdentity, result, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::PutResponse>(reply),
            std::string(kHeader7) +
                " prev_kv { key: \"k\" create_revision: 2 mod_revision: 3 version: 1 value: \"old\" }");
}

TEST(EncodeTest, DeleteRangeAndCompact) {
  ReplyBuffer reply;
  kv::DeleteRangeResult result;
  result.revision = 7;
  result.deleted = 300;
  result.prev_kvs = Pair(3, "k", "");
  EncodeDeleteRange(kIdentity, result, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::DeleteRangeResponse>(reply),
            std::string(kHeader7) +
                " deleted: 300 prev_kvs { key: \"k\" create_revision: 2 mod_revision: 3 version: 1 }");
  reply.Clear();
  kv::CompactResult compacted;
  compacted.revision = 7;
  EncodeCompact(kIdentity, compacted, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::CompactionResponse>(reply), kHeader7);
}

TEST(EncodeTest, TxnHasRevisionsInsideAndAnEmptyHeaderWhereNested) {
  kv::PutResult put;
  put.revision = 7;
  put.has_prev_kv = true;
  put.prev_kv = Pair(0, "p", std::string(200, 'x'));  // lengths of two bytes on the way
  kv::RangeResult range;
  range.revision = 6;
  range.count = 1;
  range.more = true;
  range.kvs = Pair(2, "r", "");
  kv::DeleteRangeResult removed;
  removed.revision = 7;
  kv::TxnResult inner;
  inner.responses.push_back({put});
  inner.responses.push_back({removed});
  kv::TxnResult result;
  result.revision = 7;
  result.succeeded = true;
  result.responses.push_back({range});
  result.responses.push_back({inner});
  ReplyBuffer reply;
  EncodeTxn(kIdentity, result, &reply);
  EXPECT_EQ(Parsed<etcdserverpb::TxnResponse>(reply),
            std::string(kHeader7) +
                " succeeded: true "
                "responses { response_range { header { revision: 6 } kvs { key: \"r\" create_revision: 2 "
                "mod_revision: 3 version: 1 } more: true count: 1 } } "
                "responses { response_txn { header { } "
                "responses { response_put { header { revision: 7 } prev_kv { key: \"p\" create_revision: 2 "
                "mod_revision: 3 version: 1 value: \"" +
                std::string(200, 'x') +
                "\" } } } "
                "responses { response_delete_range { header { revision: 7 } } } } }");
}

std::string WatchText(watch::Delivery delivery) {
  ReplyBuffer reply;
  EncodeWatchHead(kIdentity, delivery, &reply);
  return Parsed<etcdserverpb::WatchResponse>(reply);
}

TEST(EncodeTest, WatchResponsesOfEveryKind) {
  using Kind = watch::DeliveryKind;
  const auto make = [](Kind kind, watch::WatchId id, kv::Revision revision) {
    watch::Delivery delivery;
    delivery.kind = kind;
    delivery.watch_id = id;
    delivery.revision = revision;
    return delivery;
  };
  const std::string header = kHeader7;
  EXPECT_EQ(WatchText(make(Kind::kCreated, 0, 7)), header + " created: true");
  EXPECT_EQ(WatchText(make(Kind::kEvents, 3, 7)), header + " watch_id: 3");
  EXPECT_EQ(WatchText(make(Kind::kProgress, -1, 7)), header + " watch_id: -1");
  EXPECT_EQ(WatchText(make(Kind::kCanceled, 3, 7)), header + " watch_id: 3 canceled: true");

  watch::Delivery failed = make(Kind::kCreateFailed, -1, 7);
  failed.extras = std::make_unique<watch::DeliveryExtras>(
      watch::DeliveryExtras{.cancel_reason = "mvcc: watcher range is empty"});
  EXPECT_EQ(WatchText(std::move(failed)), header +
                                              " watch_id: -1 created: true canceled: true cancel_reason: "
                                              "\"mvcc: watcher range is empty\"");
  watch::Delivery compacted = make(Kind::kCompacted, 3, 0);
  compacted.extras = std::make_unique<watch::DeliveryExtras>(watch::DeliveryExtras{.compact_revision = 5});
  EXPECT_EQ(WatchText(std::move(compacted)),
            "header { cluster_id: 14841639068965178418 member_id: 10276657743932975437 raft_term: 2 } "
            "watch_id: 3 canceled: true compact_revision: 5");
}

TEST(ReplyBufferTest, HoldsTheWidestHeaderAndAWrap) {
  ReplyBuffer reply;
  const Identity widest{.cluster_id = ~0ULL, .member_id = ~0ULL, .raft_term = ~0ULL};
  reply.body().append(70000, '\x08');  // any bytes
  reply.SetHeader(widest, -1);
  reply.Wrap(1);
  EXPECT_EQ(reply.bytes().size(), 70000U + 46 + 4);
  EXPECT_LE(46 + 1 + kVarintBytesMax, ReplyBuffer::kRoomBytes);
}

TEST(ReplyBufferTest, ReleaseGivesTheStorageAway) {
  ReplyBuffer reply;
  reply.body().append(1000, 'x');
  reply.SetHeader(kIdentity, 7);
  const std::string before(reply.bytes());
  std::size_t offset = 0;
  const std::string storage = reply.Release(&offset);
  EXPECT_EQ(std::string_view(storage).substr(offset), before);
  EXPECT_EQ(reply.bytes(), "");
}

std::string Joined(const grpc::ByteBuffer& buffer, std::size_t* slices) {
  std::vector<grpc::Slice> parts;
  EXPECT_TRUE(buffer.Dump(&parts).ok());
  *slices = parts.size();
  std::string joined;
  for (const grpc::Slice& part : parts)
    joined.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return joined;
}

// Replies and tails of sizes on both sides of the bounds from which storage is shared.
TEST(MessageTest, BytesAreTheSameCopiedOrShared) {
  for (const std::size_t body : {0UL, 10UL, 65000UL, 70000UL, 300000UL}) {
    for (const std::size_t tail : {0UL, 10UL, 2048UL, 2049UL, 100000UL}) {
      ReplyBuffer reply;
      reply.body().append(body, 'b');
      reply.SetHeader(kIdentity, 7);
      auto owner = std::make_shared<std::string>(tail, 't');
      const std::string expected = std::string(reply.bytes()) + *owner;
      std::size_t slices = 0;
      {
        const grpc::ByteBuffer buffer = ToByteBuffer(&reply, {owner, *owner});
        EXPECT_EQ(Joined(buffer, &slices), expected);
        EXPECT_EQ(owner.use_count(), tail > 2048 ? 2 : 1);
      }
      EXPECT_EQ(slices, tail > 2048 ? 2U : 1U);
      EXPECT_EQ(owner.use_count(), 1);
    }
  }
}

TEST(MessageTest, PeerHosts) {
  EXPECT_EQ(PeerHost("ipv4:10.0.0.7:51234"), "10.0.0.7");
  EXPECT_EQ(PeerHost("ipv6:%5B::1%5D:51234"), "::1");
  EXPECT_EQ(PeerHost("unix:"), "unix");
  EXPECT_EQ(PeerHost("unix:/run/kvist.sock"), "unix");
  EXPECT_EQ(PeerHost("other"), "other");
}

TEST(ErrorsTest, TextsOfPathsAndSizes) {
  const auto text = [](const absl::Status& status) { return std::string(status.ToString()); };
  EXPECT_EQ(text(UnknownServiceError("/a.B/C")), "UNIMPLEMENTED: unknown service a.B");
  EXPECT_EQ(text(UnknownServiceError("/foo")), "UNIMPLEMENTED: malformed method name: \"/foo\"");
  EXPECT_EQ(text(UnknownMethodError("/a.B/C")), "UNIMPLEMENTED: unknown method C for service a.B");
  EXPECT_EQ(text(MessageTooLargeError(3000000, 2097152)),
            "RESOURCE_EXHAUSTED: grpc: received message larger than max (3000000 vs. 2097152)");
  EXPECT_EQ(text(FromEngine(absl::OutOfRangeError("mvcc: required revision has been compacted"))),
            "OUT_OF_RANGE: etcdserver: mvcc: required revision has been compacted");
  EXPECT_TRUE(FromEngine(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace kvist::etcdv3
