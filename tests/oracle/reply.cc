#include "tests/oracle/reply.h"

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {
namespace {

bool SameMessages(const Reply& left, const Reply& right) {
  if (left.messages.size() != right.messages.size()) return false;
  for (std::size_t i = 0; i < left.messages.size(); ++i) {
    const auto& [left_where, left_message] = left.messages[i];
    const auto& [right_where, right_message] = right.messages[i];
    if (left_where != right_where) return false;
    if (left_message->SerializeAsString() != right_message->SerializeAsString()) return false;
  }
  return true;
}

std::string InWords(const Reply& reply) {
  std::string text = Describe(reply.status);
  for (const auto& [where, message] : reply.messages) {
    absl::StrAppend(&text, "\n      ", where, where.empty() ? "" : ": ", Describe(*message));
  }
  for (const std::string& fault : reply.faults) absl::StrAppend(&text, "\n      FAULT: ", fault);
  return text;
}

}  // namespace

std::string Compare(const Reply& left, const Reply& right) {
  if (left.faults.empty() && right.faults.empty() && left.status.error_code() == right.status.error_code() &&
      left.status.error_message() == right.status.error_message() && SameMessages(left, right)) {
    return "";
  }
  return absl::StrCat("    left:  ", InWords(left), "\n    right: ", InWords(right), "\n");
}

}  // namespace kvist::blackbox
