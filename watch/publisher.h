// watch/: who is told of which change. The publisher hears of every commit from the engine and queues the
// events for the watches that want them, each stream of watches with an ordered queue of its own; it reads
// the log for watches that started in the past or whose reader was too slow. It must not know gRPC.
//
// Promises for each watch, whatever its reader does: every event of its keys from its start revision on,
// once, in order; all events of one revision in one delivery; nothing before its kCreated, and neither
// events nor progress after its kCanceled or kCompacted.

#ifndef KVIST_WATCH_PUBLISHER_H_
#define KVIST_WATCH_PUBLISHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kv/engine.h"
#include "watch/delivery.h"

namespace kvist::watch {

// Told that a stream has something to take. The transport implements it.
class StreamSink {
 public:
  virtual ~StreamSink() = default;

  // The queue went from empty to not empty. Called once, and not again until Take has emptied the queue,
  // which it may have done before the call comes.
  // Runs on any thread (of a writer, of a caller of the stream, of catch-up), with no lock of this room
  // held, and holds up other streams' news: be short, post to an event loop. May call Take; must not
  // destroy the stream.
  virtual void OnReady() = 0;
};

// The watches of one client stream and the queue of what it is to be told.
//
// Replies of all kinds go through the one queue: what a method below says it answers, it appends there.
//
// Threads: methods may be called from any thread at any time, the destructor when no other call is under
// way. Replies are queued in the order of the calls.
class WatchStream {
 public:
  // Ends all watches. Waits for an OnReady under way on another thread; none follows. So the caller must
  // hold no lock that an OnReady, of this stream or another, takes.
  virtual ~WatchStream() = default;

  // Creates a watch. Answers kCreated; or kCreateFailed if the start revision is negative, the range is
  // empty or the id in use. A start below the compacted revision is answered by kCreated and kCompacted.
  virtual void Create(const WatchRequest& request) = 0;

  // Answers kCreateFailed with `reason`, for a creation that the transport refuses: so it keeps its place
  // among the others.
  virtual void RefuseCreate(std::string reason) = 0;

  // Ends a watch and answers kCanceled; its id may be used again. Ignored if there is none with this id. A
  // watch that was ended by compaction is there until then.
  virtual void Cancel(WatchId id) = 0;

  // Answers kProgress for the stream, behind all events up to that revision; or nothing if a watch is
  // catching up or has a start in the future, or there is no watch, or the queue is full.
  virtual void RequestProgress() = 0;

  // The interval of periodic progress has passed: answers kProgress for each watch that asked for it, is
  // not catching up, has no start in the future and had no event queued since the last call.
  virtual void Tick() = 0;

  // Moves up to `max` replies from the front of the queue to the end of `*out`. Returns whether more are
  // left: no OnReady will come for those.
  virtual bool Take(std::size_t max, std::vector<Delivery>* out) = 0;

  // Whether the queue is at its bound. Events then wait in the log; replies to requests are queued
  // nevertheless, so a transport reads no further request while this holds.
  [[nodiscard]] virtual bool Full() const = 0;
};

// The bounds of one stream's queue. It is full when it has reached one of them, and so may exceed the
// second by one delivery. Deliveries are 48 bytes; a block of events counts once if deliveries that follow
// each other share it. What a stream can hold of memory: 200 kB and 8 MiB, the latter only if it shares
// its events with no other stream.
inline constexpr std::size_t kQueueDeliveriesMax = 4096;
inline constexpr std::size_t kQueueBytesMax = std::size_t{8} << 20;

// A delivery of catch-up has the events of at most so many revisions.
inline constexpr int kCatchUpRevisionsMax = 1000;

struct PublisherCounters {
  std::int64_t streams = 0;
  std::int64_t watchers = 0;
  std::int64_t slow_watchers = 0;  // those catching up, part of `watchers`
  std::int64_t events = 0;         // queued since the start, each once for each watch
};

// Told of commits, tells the streams.
//
// Threads: every method may be called from any thread at any time, OnCommit by the engine alone.
class Publisher : public kv::CommitListener {
 public:
  // Makes itself the commit listener of `engine`, which must outlive it. If another listener takes that
  // place, it must forward every batch from then on.
  static std::unique_ptr<Publisher> Create(kv::Engine* engine);

  // All streams must be gone. Leaves the engine without a listener.
  ~Publisher() override = default;

  // `sink` must outlive the stream, and the stream must not outlive the publisher.
  virtual std::unique_ptr<WatchStream> NewStream(StreamSink* sink) = 0;

  [[nodiscard]] virtual PublisherCounters Counters() const = 0;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_PUBLISHER_H_
