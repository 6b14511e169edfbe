#include "tests/support/watch_stream.h"

namespace kvist::blackbox {

WatchStream::WatchStream(const Client& client) : stream_(client.watch->Watch(&context_)) {
  reader_ = std::thread([this] { ReadAll(); });
}

WatchStream::~WatchStream() {
  if (!reader_.joinable()) return;
  context_.TryCancel();
  reader_.join();
  stream_->Finish();
}

void WatchStream::ReadAll() {
  etcdserverpb::WatchResponse response;
  while (stream_->Read(&response)) {
    MutexLock lock(&mu_);
    responses_.push_back(std::move(response));
    arrived_.Signal();
  }
  MutexLock lock(&mu_);
  ended_ = true;
  arrived_.Signal();
}

bool WatchStream::Create(const etcdserverpb::WatchCreateRequest& create) {
  etcdserverpb::WatchRequest request;
  *request.mutable_create_request() = create;
  return Send(request);
}

std::optional<etcdserverpb::WatchResponse> WatchStream::Next(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(&mu_);
  while (responses_.empty() && !ended_) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0 || !arrived_.WaitFor(&mu_, left)) break;
  }
  if (responses_.empty()) return std::nullopt;
  etcdserverpb::WatchResponse response = std::move(responses_.front());
  responses_.pop_front();
  return response;
}

grpc::Status WatchStream::Finish() {
  reader_.join();
  return stream_->Finish();
}

}  // namespace kvist::blackbox
