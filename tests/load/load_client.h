// One client of the load test: puts, reads and transacts as fast as it is answered.

#ifndef KVIST_TESTS_LOAD_LOAD_CLIENT_H_
#define KVIST_TESTS_LOAD_LOAD_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/client.h"
#include "tests/support/random.h"

namespace kvist::blackbox {

enum class CallKind { kPut, kRange, kTxn };
inline constexpr int kCallKinds = 3;

// Used by one thread. The client may be shared, and must outlive it.
class LoadClient {
 public:
  LoadClient(const Client& client, std::uint64_t seed) : client_(client), random_(seed) {}

  // Works until `stop` is set, or a call fails.
  void Run(const std::atomic<bool>& stop);

  // How many puts were acknowledged, those within transactions included.
  [[nodiscard]] std::int64_t puts() const { return puts_; }
  [[nodiscard]] const std::vector<std::uint32_t>& microseconds(CallKind kind) const {
    return microseconds_[static_cast<std::size_t>(kind)];
  }
  // What was wrong; empty if nothing was.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  CallKind NextKind();
  grpc::Status Put();
  grpc::Status Range();
  grpc::Status Txn();
  void Fault(const std::string& text) {
    if (fault_.empty()) fault_ = text;
  }

  const Client& client_;
  Random random_;
  std::int64_t puts_ = 0;
  std::vector<std::uint32_t> microseconds_[kCallKinds];
  std::string fault_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_LOAD_LOAD_CLIENT_H_
