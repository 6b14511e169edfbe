#include "tests/support/client.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"

namespace kvist::blackbox {

Client::Client(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the server is on this machine
  // A connection of its own, and a quick return to a server that was restarted.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // also how long one attempt may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(),
                                      arguments);
  kv = etcdserverpb::KV::NewStub(channel);
  watch = etcdserverpb::Watch::NewStub(channel);
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty()) {
    if (static_cast<unsigned char>(end.back()) != 0xff) {
      ++end.back();
      return end;
    }
    end.pop_back();
  }
  return std::string(1, '\0');
}

bool InRange(std::string_view candidate, std::string_view key, std::string_view range_end) {
  if (range_end.empty()) return candidate == key;
  if (range_end == std::string_view("\0", 1)) return candidate >= key;
  return candidate >= key && candidate < range_end;
}

std::string Describe(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetTruncateStringFieldLongerThan(60);
  std::string text;
  printer.PrintToString(message, &text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string Describe(const grpc::Status& status) {
  if (status.ok()) return "OK";
  return absl::StrCat("code ", static_cast<int>(status.error_code()), " \"", status.error_message(), "\"");
}

void ForEachMessage(google::protobuf::Message* message,
                    const std::function<void(google::protobuf::Message*)>& visit) {
  visit(message);
  const google::protobuf::Reflection* reflection = message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ForEachMessage(reflection->MutableMessage(message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      ForEachMessage(reflection->MutableRepeatedMessage(message, field, i), visit);
    }
  }
}

void ClearIdentity(google::protobuf::Message* message) {
  ForEachMessage(message, [](google::protobuf::Message* part) {
    if (part->GetDescriptor() != etcdserverpb::ResponseHeader::descriptor()) return;
    auto* header = static_cast<etcdserverpb::ResponseHeader*>(part);
    header->clear_cluster_id();
    header->clear_member_id();
    header->clear_raft_term();
  });
}

}  // namespace kvist::blackbox
