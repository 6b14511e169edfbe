// Watch.Watch: one client stream of watches. Takes the client's requests to the publisher and the stream's
// queue of deliveries to the client, in its order.

#ifndef KVIST_ETCDV3_WATCH_HANDLER_H_
#define KVIST_ETCDV3_WATCH_HANDLER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "etcdv3/identity.h"
#include "etcdv3/stream_call.h"
#include "watch/publisher.h"

namespace kvist::etcdv3 {

struct WatchOptions {
  Identity identity;
  // A watch that asked for it hears so often that nothing happened; up to a tenth is added at random, so
  // that the streams of one moment do not stay in step.
  std::chrono::nanoseconds progress_interval = std::chrono::minutes(10);
  // A response to a watch that allows it is cut where it would reach this size.
  std::size_t fragment_bytes = 2 * 1024 * 1024;
};

class WatchHandler final : public StreamHandler, private watch::StreamSink {
 public:
  // `call` and `publisher` are borrowed. Begins to read.
  WatchHandler(StreamCall* call, watch::Publisher* publisher, const WatchOptions& options);

  void OnMessage(std::string_view message) override;
  void OnHalfClose() override {}  // the watches go on
  void OnSent() override;
  void OnWake() override;
  void OnTimer() override;

 private:
  void OnReady() override { call_->Wake(); }
  void Create(const watch::WatchRequest& request);
  void ReadUnlessFull();
  void SendNext();
  void Send(const watch::Delivery& delivery);
  bool Refill();
  void StartTicking();

  StreamCall* const call_;
  const WatchOptions options_;
  const std::chrono::nanoseconds tick_;

  bool reading_ = false;
  bool ticking_ = false;
  bool sending_ = false;

  // Taken from the stream's queue and not sent yet: those from next_ on, of which the first has been sent
  // up to its event event_ and byte byte_.
  std::vector<watch::Delivery> taken_;
  std::size_t next_ = 0;
  std::size_t event_ = 0;
  std::size_t byte_ = 0;
  bool more_queued_ = false;

  std::unique_ptr<watch::WatchStream> stream_;  // last: it calls OnReady
};

}  // namespace kvist::etcdv3

#endif  // KVIST_ETCDV3_WATCH_HANDLER_H_
