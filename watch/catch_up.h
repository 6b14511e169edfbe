// Catching up: one round reads a stretch of the log for many watchers at once and encodes what they want.

#ifndef KVIST_WATCH_CATCH_UP_H_
#define KVIST_WATCH_CATCH_UP_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kv/engine.h"
#include "kv/types.h"
#include "watch/event_block.h"
#include "watch/event_sets.h"
#include "watch/watcher.h"
#include "watch/watcher_index.h"

namespace kvist::watch {

// The bounds of a round. It ends with the revision that reaches one of them; kCatchUpRevisionsMax is
// another. What a round holds of memory: twice the bytes, once as records and once encoded, a previous
// value for each event if one is wanted, and one revision beyond, which may be of any size.
inline constexpr std::size_t kRoundWatchersMax = 512;
inline constexpr std::size_t kRoundBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kRoundScanMax = 65536;  // records read, wanted or not
inline constexpr std::size_t kRoundSetsMax = 65536;  // see EventSets; 64 bytes each

// Its parts alternate: the dispatcher fills it (with its lock held), Read runs with no lock, the
// dispatcher takes what was read. While a watcher is kInRound, only the round uses the fields that
// watch/watcher.h says it owns.
class CatchUpRound {
 public:
  explicit CatchUpRound(kv::Engine* engine) : engine_(engine), sets_(engine) {}

  struct Entry {
    std::shared_ptr<Watcher> watcher;
    std::shared_ptr<const EventBlock> events;  // null if there were none
    bool failed = false;                       // its events could not be read, try again
  };

  // Starts an empty round that reads to revision `to`.
  void Start(kv::Revision to);

  // Whether a watcher may join: one that the others' stretch of the log does not leave out.
  [[nodiscard]] bool Takes(const Watcher& watcher) const;
  void Add(std::shared_ptr<Watcher> watcher);

  // Reads and encodes. Call with no lock held.
  void Read();

  // Gives the memory back.
  void Clear() { Start(0); }

  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }
  [[nodiscard]] WatcherIndex* index() { return &index_; }  // of the watchers of all entries

  // All revisions from that of the first watcher to this one have been read; to() if it is all.
  [[nodiscard]] kv::Revision read_to() const { return read_to_; }
  [[nodiscard]] kv::Revision to() const { return to_; }

  // Whether the store failed, so that it is better to wait before the next round. That the log has been
  // compacted meanwhile is no failure: nothing is read then.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  [[nodiscard]] bool Enough() const;
  void Match(const kv::LogRecord& record);
  void Keep(const kv::LogRecord& record);
  void Encode();

  kv::Engine* const engine_;
  std::vector<Entry> entries_;
  WatcherIndex index_;
  kv::Revision from_ = 0;
  kv::Revision to_ = 0;
  kv::Revision read_to_ = 0;
  bool failed_ = false;

  // Of the records that somebody wants.
  std::deque<std::string> bytes_;
  std::vector<kv::LogRecord> records_;  // views of bytes_
  EventSets sets_;
  int revisions_ = 0;
  std::size_t scanned_ = 0;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_CATCH_UP_H_
