// Who this server says it is: the ids of the one member and its cluster, derived as etcd derives them, and
// what a reply's header carries besides the revision.

#ifndef KVIST_ETCDV3_IDENTITY_H_
#define KVIST_ETCDV3_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvist::etcdv3 {

// The version of the API that is spoken, which clients read to decide what they may ask.
inline constexpr char kEtcdVersion[] = "3.7.1";
inline constexpr char kStorageVersion[] = "3.7.0";

// What etcd takes when it is told nothing else.
inline constexpr char kDefaultPeerUrl[] = "http://localhost:2380";
inline constexpr char kDefaultClusterToken[] = "etcd-cluster";

struct Identity {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  // 1 + how often the store has been opened, as each start of an etcd begins a new term.
  std::uint64_t raft_term = 0;
};

// The ids etcd gives a one-member cluster: the member's is the start of SHA-1(peer URLs, sorted, then
// token), the cluster's the start of SHA-1(the member's id).
Identity MakeIdentity(std::vector<std::string> peer_urls, std::string_view cluster_token,
                      std::int64_t open_count);

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_IDENTITY_H_
