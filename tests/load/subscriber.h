// One Watch stream with many watches, each of which must be sent each version of its keys exactly once and
// in order.

#ifndef KVIST_TESTS_LOAD_SUBSCRIBER_H_
#define KVIST_TESTS_LOAD_SUBSCRIBER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tests/support/client.h"

namespace kvist::blackbox {

// May be shared between threads; a thread of its own reads. The client must outlive it.
class Subscriber {
 public:
  // Opens a watch for each key and range end of `ranges`, none of whose keys exists yet, and waits until
  // the server has created them.
  Subscriber(const Client& client, const std::vector<std::pair<std::string, std::string>>& ranges);
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Waits until every watch has been sent its keys up to these versions. Returns what is wrong, then or at
  // any time before; empty if nothing is.
  std::string AwaitVersions(const std::map<std::string, std::int64_t>& versions,
                            std::chrono::seconds patience);

  [[nodiscard]] std::int64_t events();

 private:
  using Stream = grpc::ClientReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;

  struct Watch {
    std::string key;
    std::string range_end;
    std::map<std::string, std::int64_t> versions;  // the newest sent, by key
  };

  void ReadAll();
  void Take(const etcdserverpb::WatchResponse& response) REQUIRES(mu_);
  std::string Behind(const std::map<std::string, std::int64_t>& versions) REQUIRES(mu_);

  grpc::ClientContext context_;
  const std::unique_ptr<Stream> stream_;
  Mutex mu_;
  CondVar changed_;
  std::map<std::int64_t, Watch> watches_ GUARDED_BY(mu_);  // by id
  std::size_t created_ GUARDED_BY(mu_) = 0;
  std::int64_t events_ GUARDED_BY(mu_) = 0;
  std::string fault_ GUARDED_BY(mu_);
  std::thread reader_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_LOAD_SUBSCRIBER_H_
