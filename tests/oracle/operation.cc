#include "tests/oracle/operation.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/client.h"

namespace kvist::blackbox {
namespace {

using google::protobuf::FieldDescriptor;

constexpr std::int64_t kCurrentBase = std::int64_t{1} << 40;
constexpr std::int64_t kCompactedBase = std::int64_t{1} << 41;
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 20;

bool IsNear(std::int64_t number, std::int64_t base) {
  return number > base - kMaxOffset && number < base + kMaxOffset;
}

// Calls `visit` with each int64 of one message, not of those inside it, and stores what it returns.
void RewriteNumbers(google::protobuf::Message* message,
                    const std::function<std::int64_t(std::int64_t)>& rewrite) {
  const google::protobuf::Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_INT64) continue;
    reflection->SetInt64(message, field, rewrite(reflection->GetInt64(*message, field)));
  }
}

std::string Offset(std::int64_t offset) {
  return offset == 0 ? "" : absl::StrCat(offset > 0 ? "+" : "", offset);
}

struct KindOf {
  std::string operator()(const etcdserverpb::RangeRequest&) const { return "Range"; }
  std::string operator()(const StreamedRange&) const { return "RangeStream"; }
  std::string operator()(const etcdserverpb::PutRequest&) const { return "Put"; }
  std::string operator()(const etcdserverpb::DeleteRangeRequest&) const { return "DeleteRange"; }
  std::string operator()(const etcdserverpb::TxnRequest&) const { return "Txn"; }
  std::string operator()(const etcdserverpb::CompactionRequest&) const { return "Compact"; }
  std::string operator()(const WatchStep& step) const { return absl::StrCat("Watch stream ", step.stream); }
};

struct RequestOf {
  google::protobuf::Message* operator()(StreamedRange& step) const { return &step.request; }
  google::protobuf::Message* operator()(WatchStep& step) const { return &step.request; }
  google::protobuf::Message* operator()(google::protobuf::Message& request) const { return &request; }
};

}  // namespace

std::int64_t FromCurrent(std::int64_t offset) { return kCurrentBase + offset; }
std::int64_t FromCompacted(std::int64_t offset) { return kCompactedBase + offset; }

void Resolve(const Progress& progress, google::protobuf::Message* message) {
  ForEachMessage(message, [&](google::protobuf::Message* part) {
    RewriteNumbers(part, [&](std::int64_t number) {
      if (IsNear(number, kCurrentBase)) return progress.current + (number - kCurrentBase);
      if (IsNear(number, kCompactedBase)) return progress.compacted + (number - kCompactedBase);
      return number;
    });
  });
}

google::protobuf::Message* Request(Operation* operation) { return std::visit(RequestOf{}, *operation); }

std::string Describe(const Operation& operation) {
  Operation copy = operation;
  std::vector<std::pair<std::string, std::string>> names;
  ForEachMessage(Request(&copy), [&](google::protobuf::Message* part) {
    RewriteNumbers(part, [&](std::int64_t number) {
      if (IsNear(number, kCurrentBase)) {
        names.emplace_back(absl::StrCat(number), "current" + Offset(number - kCurrentBase));
      } else if (IsNear(number, kCompactedBase)) {
        names.emplace_back(absl::StrCat(number), "compacted" + Offset(number - kCompactedBase));
      }
      return number;
    });
  });
  const std::string text = absl::StrCat(std::visit(KindOf{}, copy), " { ", Describe(*Request(&copy)), " }");
  return absl::StrReplaceAll(text, names);
}

}  // namespace kvist::blackbox
