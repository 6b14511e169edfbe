#include "kv/key_value.h"

#include <gtest/gtest.h>

#include <string>

namespace kvist::kv {
namespace {

KeyValueView Sample() {
  KeyValueView kv;
  kv.key = "key";
  kv.create_revision = 2;
  kv.mod_revision = 300;
  kv.version = 1;
  kv.lease = -1;
  kv.value = "v";
  return kv;
}

std::string Encode(const KeyValueView& kv) {
  std::string bytes;
  AppendKeyValue(kv, &bytes);
  return bytes;
}

// The wire format as protobuf's documentation has it, by hand.
TEST(KeyValueTest, GoldenBytes) {
  EXPECT_EQ(Encode(Sample()), std::string("\x0a\x03key\x10\x02\x18\xac\x02\x20\x01"
                                          "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x2a\x01v"));
}

TEST(KeyValueTest, DecodeGivesBackWhatWasEncoded) {
  const std::string bytes = Encode(Sample());
  KeyValueView kv;
  ASSERT_TRUE(DecodeKeyValue(bytes, &kv));
  EXPECT_EQ(kv.key, "key");
  EXPECT_EQ(kv.create_revision, 2);
  EXPECT_EQ(kv.mod_revision, 300);
  EXPECT_EQ(kv.version, 1);
  EXPECT_EQ(kv.lease, -1);
  EXPECT_EQ(kv.value, "v");
  EXPECT_EQ(bytes.substr(0, kv.lease_offset), std::string("\x0a\x03key\x10\x02\x18\xac\x02\x20\x01"));
  EXPECT_EQ(bytes.size() - kv.value_offset, 3U);
  EXPECT_EQ(KeyValueSize(kv), bytes.size());
}

TEST(KeyValueTest, ZeroFieldsAreLeftOut) {
  KeyValueView kv;
  kv.key = "k";
  kv.mod_revision = 5;
  EXPECT_EQ(Encode(kv), std::string("\x0a\x01k\x18\x05"));
  EXPECT_EQ(KeyValueSize(kv), 5U);
  ASSERT_TRUE(DecodeKeyValue(Encode(kv), &kv));
  EXPECT_EQ(kv.value, "");
  EXPECT_EQ(kv.lease_offset, 5U);
  EXPECT_EQ(kv.value_offset, 5U);
}

TEST(KeyValueTest, SizeIsExactAtVarintBoundaries) {
  for (const std::size_t size : {0, 1, 127, 128, 16383, 16384}) {
    for (const Revision revision : {Revision{127}, Revision{128}, Revision{INT64_MAX}}) {
      const std::string bytes(size, 'x');
      KeyValueView kv;
      kv.key = "k";
      kv.value = bytes;
      kv.mod_revision = revision;
      EXPECT_EQ(KeyValueSize(kv), Encode(kv).size());
    }
  }
}

TEST(KeyValueTest, MalformedBytesAreRefused) {
  const std::string bytes = Encode(Sample());
  KeyValueView kv;
  for (std::size_t size : {1U, 2U, 4U, 6U, 8U}) {
    EXPECT_FALSE(DecodeKeyValue(bytes.substr(0, size), &kv)) << size;
  }
  EXPECT_FALSE(DecodeKeyValue(bytes + "x", &kv));
  EXPECT_FALSE(DecodeKeyValue("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &kv)) << "endless varint";
  EXPECT_FALSE(DecodeKeyValue("\x0a\x7fx", &kv)) << "length beyond the end";
}

TEST(KeyValueTest, ForEachVisitsFieldsTwoAndThreeAlone) {
  std::string fields;
  AppendField(2, Encode(Sample()), &fields);
  AppendField(3, Encode(Sample()), &fields);
  int visited = 0;
  EXPECT_TRUE(ForEachKeyValue(fields, [&](const KeyValueView& kv) { visited += kv.key == "key" ? 1 : 0; }));
  EXPECT_EQ(visited, 2);
  AppendField(4, Encode(Sample()), &fields);
  EXPECT_FALSE(ForEachKeyValue(fields, [](const KeyValueView&) {}));
}

}  // namespace
}  // namespace kvist::kv
