// Keeps the books on one server's watches: plays the watch steps, sorts what comes on each stream by
// watch, and checks it against the server's own history. What it hands out is the same for two servers
// that behave alike, whatever their timing: events are handed out only when all that are due have come.

#ifndef KVIST_TESTS_ORACLE_WATCH_BOOK_H_
#define KVIST_TESTS_ORACLE_WATCH_BOOK_H_

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/dialect.h"
#include "tests/oracle/history.h"
#include "tests/oracle/operation.h"
#include "tests/oracle/reply.h"

namespace kvist::blackbox {

// Used by one thread. The client must outlive it.
class WatchBook {
 public:
  WatchBook(const Client& client, const Dialect& dialect);

  // Plays one step, with its revisions resolved, and adds what comes of it to `reply`.
  void Play(const WatchStep& step, const Progress& progress, Reply* reply);

  // Waits until each watch has been sent all it is due up to `progress`, and adds it to `reply`.
  // To be called before a compaction, which would otherwise race with watches that lag.
  void Settle(const Progress& progress, Reply* reply);

 private:
  struct Watch {
    etcdserverpb::WatchCreateRequest request;
    std::size_t next_due = 0;  // index into the history
    bool may_lag = false;      // started in the past, and not yet known to have caught up
    bool below_compaction = false;
    std::vector<mvccpb::Event> events;  // came since the last Settle
    std::int64_t last_revision = 0;
    std::optional<etcdserverpb::WatchResponse> canceled;
    std::chrono::steady_clock::time_point created_at;
  };
  struct Stream {
    explicit Stream(const Client& client) : wire(client) {}
    WatchStream wire;
    std::map<std::int64_t, Watch> watches;
    std::optional<etcdserverpb::WatchResponse> created;
    std::optional<etcdserverpb::WatchResponse> progress;
    int progress_allowed = 0;  // answers that may still come
  };

  void Create(Stream* stream, etcdserverpb::WatchCreateRequest create, const Progress& progress,
              Reply* reply);
  void Cancel(Stream* stream, std::int64_t id, Reply* reply);
  void RequestProgress(Stream* stream, const Progress& progress, Reply* reply);
  void AdjustStart(bool is_future_stream, const Progress& progress,
                   etcdserverpb::WatchCreateRequest* create) const;

  void Handle(Stream* stream, etcdserverpb::WatchResponse response, Reply* reply);
  // Handles what has come so far, without waiting.
  void Drain(Stream* stream, Reply* reply);
  void HandleEvents(Stream* stream, etcdserverpb::WatchResponse response, Reply* reply);
  // Handles responses until `done` holds. False when it did not in time.
  template <typename Done>
  bool Await(Stream* stream, std::chrono::milliseconds patience, Reply* reply, Done done);

  // The parts of Settle, for one stream.
  void CollectCanceled(Stream* stream, const std::string& where, Reply* reply);
  void CatchUp(Stream* stream, const Progress& progress, Reply* reply);
  void CollectEvents(Stream* stream, const std::string& where, Reply* reply);
  [[nodiscard]] std::vector<mvccpb::Event> TakeDue(Watch* watch) const;

  const Dialect dialect_;
  History history_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_WATCH_BOOK_H_
