// See flags.h.

#include "server/flags.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>
#include <utility>

#include "server/go_duration.h"

namespace kvist::server {
namespace {

constexpr char kDescription[] =
    "kvist: a key-value and configuration store in a single binary.\n"
    "It speaks the etcd v3 API: any etcd client works with it.";

constexpr char kExamples[] =
    "Examples:\n"
    "  kvist serve                             serve http://localhost:2379, data in ./kvist-data\n"
    "  kvist serve --data-dir /var/lib/kvist --listen-client-urls http://0.0.0.0:2379\n"
    "  kvist serve --listen-client-urls unix:///run/kvist.sock,http://127.0.0.1:2379\n"
    "\n"
    "Then, with etcd's own client:\n"
    "  etcdctl put greeting hello\n"
    "  etcdctl get greeting\n"
    "  etcdctl watch --prefix gr";

// An option that takes a duration in Go's form.
CLI::Option* AddDuration(CLI::App* app, const std::string& name, std::chrono::nanoseconds* value,
                         const std::string& default_text, const std::string& help) {
  const auto parse = [name, value](const std::string& text) {
    const auto parsed = ParseGoDuration(text);
    if (!parsed) throw CLI::ValidationError(name, "\"" + text + "\" is no duration; write 300ms, 10s, 5m or 1h30m");
    *value = *parsed;
  };
  return app->add_option_function<std::string>(name, parse, help)->type_name("DURATION")->default_str(default_text);
}

template <typename Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

template <typename Enum>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, Enum* value, const Choices<Enum>& choices,
                       const std::string& default_text, const std::string& help) {
  std::string names;
  for (const auto& [choice, unused] : choices) names += (names.empty() ? "" : "|") + choice;
  const auto parse = [name, value, choices, names](const std::string& text) {
    for (const auto& [choice, meaning] : choices) {
      if (choice != text) continue;
      *value = meaning;
      return;
    }
    throw CLI::ValidationError(name, "\"" + text + "\" is none of " + names);
  };
  return app->add_option_function<std::string>(name, parse, help)->type_name(names)->default_str(default_text);
}

// An option that takes strings separated by commas.
CLI::Option* AddList(CLI::App* app, const std::string& name, std::vector<std::string>* value,
                     const std::string& help) {
  const auto parse = [name, value](const std::string& text) {
    value->clear();
    std::istringstream parts(text + ",");
    for (std::string part; std::getline(parts, part, ',');) {
      if (part.empty()) throw CLI::ValidationError(name, "\"" + text + "\" has an empty part");
      value->push_back(part);
    }
  };
  return app->add_option_function<std::string>(name, parse, help)->type_name("URLS");
}

void AddAddressFlags(CLI::App* serve, ServeFlags* flags) {
  const std::string where = "Where and what";
  serve->add_option("--data-dir", flags->data_dir, "Directory of the data; made if it is missing")
      ->type_name("PATH")->capture_default_str()->group(where);
  AddList(serve, "--listen-client-urls", &flags->listen_client_urls,
          "Where to listen for clients, separated by commas: http://<IP or localhost>:<port> or "
          "unix:///<path>")
      ->default_str("http://localhost:2379")
      ->group(where);
  AddList(serve, "--advertise-client-urls", &flags->advertise_client_urls,
          "What to tell clients that ask for this server's URLs; those it listens on by default")
      ->group(where);
  serve->add_option("--name", flags->name, "Name of this server, told to clients that ask")
      ->type_name("NAME")->capture_default_str()->group(where);
}

void AddLimitFlags(CLI::App* serve, ServeFlags* flags) {
  const std::string limits = "Limits";
  constexpr std::int64_t kOpsMax = 1'000'000;
  constexpr std::size_t kBytesMax = std::size_t{1} << 30;
  serve->add_option("--max-txn-ops", flags->max_txn_ops, "Most operations in a transaction")
      ->check(CLI::Range(std::int64_t{1}, kOpsMax))->type_name("N")->capture_default_str()->group(limits);
  serve->add_option("--max-request-bytes", flags->max_request_bytes, "Largest write request that is taken")
      ->check(CLI::Range(std::size_t{1}, kBytesMax))->type_name("BYTES")->capture_default_str()->group(limits);
  AddDuration(serve, "--watch-progress-notify-interval", &flags->watch_progress_notify_interval, "10m",
              "How often idle watches that asked for it are told how far they are")->group(limits);
}

void AddLogFlags(CLI::App* serve, ServeFlags* flags) {
  const std::string logs = "Logs (on stderr)";
  AddChoice<log::Level>(serve, "--log-level", &flags->log_level,
                      {{"debug", log::Level::kDebug},
                       {"info", log::Level::kInfo},
                       {"warn", log::Level::kWarn},
                       {"error", log::Level::kError}},
                      "info", "Least important messages to log")->group(logs);
  AddChoice<log::Format>(serve, "--log-format", &flags->log_format,
                       {{"json", log::Format::kJson}, {"text", log::Format::kText}}, "json",
                       "One JSON object a line, or text to be read by people")->group(logs);
  AddDuration(serve, "--warning-unary-request-duration", &flags->warning_unary_request_duration, "300ms",
              "Log requests that take longer")->group(logs);
}

void AddServe(CLI::App* app, CommandLine* out) {
  CLI::App* serve = app->add_subcommand("serve", "Serve clients until SIGTERM or SIGINT");
  serve->footer(kExamples);
  AddAddressFlags(serve, &out->serve);
  AddLimitFlags(serve, &out->serve);
  AddLogFlags(serve, &out->serve);
  serve->add_flag("--unsafe-no-fsync", out->serve.unsafe_no_fsync,
                  "Answer writes before they are on disk: when the machine stops, writes are lost and the "
                  "data may be destroyed")
      ->group("Dangerous");
  serve->callback([out] { out->command = Command::kServe; });
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, CommandLine* out) {
  CLI::App app(kDescription, "kvist");
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version, "Print the version");
  AddServe(&app, out);
  app.add_subcommand("version", "Print the version")->callback([out] { out->command = Command::kVersion; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help was asked for, and is printed
    std::cerr << "kvist: " << error.what() << ". Try 'kvist serve --help'.\n";
    return kExitBadFlag;
  }
  if (version) {
    out->command = Command::kVersion;
    return std::nullopt;
  }
  if (!app.get_subcommands().empty()) return std::nullopt;
  std::cerr << app.help();
  return kExitBadFlag;
}

}  // namespace kvist::server
