// One Watch stream as a queue of the responses that came, so that a test can wait for them.

#ifndef KVIST_TESTS_SUPPORT_WATCH_STREAM_H_
#define KVIST_TESTS_SUPPORT_WATCH_STREAM_H_

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "tests/support/client.h"

namespace kvist::blackbox {

// Used by one thread; a thread of its own reads. The client must outlive it.
class WatchStream {
 public:
  explicit WatchStream(const Client& client);
  // Cancels the stream.
  ~WatchStream();
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  // False when the stream is broken.
  bool Send(const etcdserverpb::WatchRequest& request) { return stream_->Write(request); }
  bool Create(const etcdserverpb::WatchCreateRequest& create);
  // Says that no request follows; the server goes on sending.
  bool HalfClose() { return stream_->WritesDone(); }

  // The next response in the order they came. Empty when none came in time or the stream has ended.
  std::optional<etcdserverpb::WatchResponse> Next(std::chrono::nanoseconds timeout);
  // How the stream ended; waits for that.
  grpc::Status Finish();

 private:
  void ReadAll();

  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>>
      stream_;
  Mutex mu_;
  CondVar arrived_;
  std::deque<etcdserverpb::WatchResponse> responses_ GUARDED_BY(mu_);
  bool ended_ GUARDED_BY(mu_) = false;
  std::thread reader_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_SUPPORT_WATCH_STREAM_H_
