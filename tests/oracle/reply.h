// What a server answered to one step, in a form that can be compared.

#ifndef KVIST_TESTS_ORACLE_REPLY_H_
#define KVIST_TESTS_ORACLE_REPLY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/message.h"
#include "tests/support/client.h"

namespace kvist::blackbox {

struct Reply {
  grpc::Status status;
  // What came, each with the words that say where. Ids and terms are cleared.
  std::vector<std::pair<std::string, std::shared_ptr<const google::protobuf::Message>>> messages;
  // What is wrong by itself, without a second server to compare with. Empty when nothing is.
  std::vector<std::string> faults;

  template <typename Message>
  void Add(std::string where, Message message) {
    ClearIdentity(&message);
    messages.emplace_back(std::move(where), std::make_shared<const Message>(std::move(message)));
  }
};

// Empty when the replies are equal and without fault; otherwise both in words.
std::string Compare(const Reply& left, const Reply& right);

}  // namespace kvist::blackbox

#endif  // KVIST_TESTS_ORACLE_REPLY_H_
