// Plays a sequence of operations to one server, one after the other, and keeps what it answers.

#ifndef KVIST_TESTS_ORACLE_SIDE_H_
#define KVIST_TESTS_ORACLE_SIDE_H_

#include <span>
#include <vector>

#include "tests/oracle/dialect.h"
#include "tests/oracle/operation.h"
#include "tests/oracle/reply.h"
#include "tests/oracle/watch_book.h"
#include "tests/support/client.h"

namespace kvist::blackbox {

// Used by one thread at a time.
class Side {
 public:
  // REQUIRES: a server with an empty store listens on `port`.
  Side(int port, const Dialect& dialect);

  // One reply for each operation; fewer when a fault is met, which is in the last one then.
  std::vector<Reply> Play(std::span<const Operation> operations);

  // What the watches are still due.
  Reply Settle();

 private:
  Reply PlayOne(Operation operation);
  void PlayRequest(const etcdserverpb::RangeRequest& request, Reply* reply);
  void PlayRequest(const etcdserverpb::PutRequest& request, Reply* reply);
  void PlayRequest(const etcdserverpb::DeleteRangeRequest& request, Reply* reply);
  void PlayRequest(const etcdserverpb::TxnRequest& request, Reply* reply);
  void PlayRequest(const etcdserverpb::CompactionRequest& request, Reply* reply);
  void PlayRequest(const StreamedRange& step, Reply* reply);
  void PlayRequest(const WatchStep& step, Reply* reply);
  // Adds a unary answer, and learns the current revision from its header.
  template <typename Response>
  void Take(const grpc::Status& status, const Response& response, Reply* reply);

  const Client client_;
  Progress progress_;
  WatchBook watches_;
};

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_SIDE_H_
