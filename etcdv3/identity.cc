// See identity.h.

#include "etcdv3/identity.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace kvist::etcdv3 {
namespace {

// The first eight bytes of the digest as a big-endian number.
std::uint64_t ShortSha1(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  const std::string bytes(text);
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::uint64_t id = 0;
  for (int i = 0; i < 8; ++i) id = (id << 8) | digest[static_cast<std::size_t>(i)];
  return id;
}

std::string BigEndian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  return bytes;
}

}  // namespace

Identity MakeIdentity(std::vector<std::string> peer_urls, std::string_view cluster_token,
                      std::int64_t open_count) {
  std::sort(peer_urls.begin(), peer_urls.end());
  std::string text;
  for (const std::string& url : peer_urls) text += url;
  text += cluster_token;
  Identity identity;
  identity.member_id = ShortSha1(text);
  identity.cluster_id = ShortSha1(BigEndian(identity.member_id));
  identity.raft_term = static_cast<std::uint64_t>(open_count) + 1;
  return identity;
}

}  // namespace kvist::etcdv3
