#include "server/flags.h"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "etcdv3/identity.h"
#include "server/version.h"

namespace kvist::server {
namespace {

constexpr char kDescription[] =
    "kvist: a key-value store that speaks the etcd v3 API and keeps its data in one LMDB file.";

constexpr char kExamples[] = R"(Examples:
  kvist serve                                        serve 127.0.0.1:2379, data in ./kvist-data
  kvist serve --data-dir /var/lib/kvist --listen-client-urls http://0.0.0.0:2379
  kvist serve --listen-client-urls http://127.0.0.1:2379,unix:///run/kvist.sock
  etcdctl put greeting hello                         any etcd v3 client talks to it)";

absl::Status UrlError(const std::string& url, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--listen-client-urls: ", url, ": ", why));
}

// The host must be what can be bound without asking a resolver, as etcd demands.
bool IsBindable(absl::string_view host) {
  if (host == "localhost") return true;
  if (absl::ConsumePrefix(&host, "[")) return absl::ConsumeSuffix(&host, "]") && absl::StrContains(host, ':');
  std::vector<absl::string_view> parts = absl::StrSplit(host, '.');
  if (parts.size() != 4) return false;
  for (absl::string_view part : parts) {
    int number = -1;
    if (!absl::SimpleAtoi(part, &number) || number < 0 || number > 255) return false;
  }
  return true;
}

absl::StatusOr<std::chrono::nanoseconds> ParsePositiveDuration(absl::string_view flag,
                                                               const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", text, ": want a positive duration such as 300ms, 5s, 10m or 1.5h"));
  }
  return absl::ToChronoNanoseconds(duration);
}

// The flags as they are written, before what is checked beyond their kind.
struct RawFlags {
  std::string listen_client_urls = "http://127.0.0.1:2379";
  std::string advertise_client_urls;
  std::string watch_progress_notify_interval = "10m";
  std::string warning_unary_request_duration = "300ms";
};

void AddServeFlags(CLI::App* serve, ServeFlags* flags, RawFlags* raw) {
  serve->add_option("--data-dir", flags->data_dir, "Directory of the data; made if missing")
      ->type_name("DIR")
      ->capture_default_str();
  serve
      ->add_option(
          "--listen-client-urls", raw->listen_client_urls,
          "Where to listen, separated by commas: http://IP:PORT, http://localhost:PORT or unix://PATH")
      ->type_name("URLS")
      ->capture_default_str();
  serve
      ->add_option("--advertise-client-urls", raw->advertise_client_urls,
                   "What the member list tells clients, separated by commas; the listen URLs if not given")
      ->type_name("URLS");
  serve->add_option("--name", flags->name, "Name of this member")->type_name("NAME")->capture_default_str();
  serve
      ->add_option("--max-txn-ops", flags->max_txn_ops,
                   "Operations a Txn may have, in each of its three lists")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->type_name("N")
      ->capture_default_str();
  serve->add_option("--max-request-bytes", flags->max_request_bytes, "Size of a write request, at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->type_name("BYTES")
      ->capture_default_str();
  serve
      ->add_option("--watch-progress-notify-interval", raw->watch_progress_notify_interval,
                   "How often a watch that asks for it hears that nothing happened; at least 100ms")
      ->type_name("DURATION")
      ->capture_default_str();
  serve
      ->add_option("--warning-unary-request-duration", raw->warning_unary_request_duration,
                   "A request that takes longer is logged as a warning")
      ->type_name("DURATION")
      ->capture_default_str();
  serve->add_flag("--unsafe-no-fsync", flags->unsafe_no_fsync,
                  "UNSAFE: answer writes before they are on the disk. A power cut or a crash of the machine "
                  "loses or corrupts data, and a full disk ends the process");
}

void AddLogFlags(CLI::App* serve, ServeFlags* flags) {
  static const std::map<std::string, log::Level> kLevels = {{"debug", log::Level::kDebug},
                                                            {"info", log::Level::kInfo},
                                                            {"warn", log::Level::kWarn},
                                                            {"error", log::Level::kError}};
  static const std::map<std::string, log::Format> kFormats = {{"json", log::Format::kJson},
                                                              {"text", log::Format::kText}};
  serve->add_option("--log-level", flags->log_level, "debug, info, warn or error; info if not given")
      ->transform(CLI::CheckedTransformer(kLevels).description(""))
      ->type_name("LEVEL");
  serve->add_option("--log-format", flags->log_format, "json or text; json if not given")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("FORMAT");
}

absl::Status Resolve(const RawFlags& raw, ServeFlags* flags) {
  for (const std::string& url : std::vector<std::string>(absl::StrSplit(raw.listen_client_urls, ','))) {
    absl::StatusOr<ListenUrl> parsed = ParseListenUrl(url);
    if (!parsed.ok()) return parsed.status();
    flags->listen_client_urls.push_back(*std::move(parsed));
  }
  if (!raw.advertise_client_urls.empty()) {
    flags->advertise_client_urls = absl::StrSplit(raw.advertise_client_urls, ',');
  } else {
    for (const ListenUrl& listen : flags->listen_client_urls)
      flags->advertise_client_urls.push_back(listen.url);
  }
  absl::StatusOr<std::chrono::nanoseconds> interval =
      ParsePositiveDuration("--watch-progress-notify-interval", raw.watch_progress_notify_interval);
  if (!interval.ok()) return interval.status();
  if (*interval < std::chrono::milliseconds(100)) {
    return absl::InvalidArgumentError("--watch-progress-notify-interval: want at least 100ms");
  }
  flags->watch_progress_notify_interval = *interval;
  absl::StatusOr<std::chrono::nanoseconds> slow =
      ParsePositiveDuration("--warning-unary-request-duration", raw.warning_unary_request_duration);
  if (!slow.ok()) return slow.status();
  flags->warning_unary_request_duration = *slow;
  return absl::OkStatus();
}

// What CLI11 has to say about an exception of its own: help, or an error and where help is.
Exit ToExit(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  return {code == 0 ? 0 : 2, out.str() + err.str()};
}

}  // namespace

absl::StatusOr<ListenUrl> ParseListenUrl(const std::string& url) {
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "unix://")) {
    if (rest.empty()) return UrlError(url, "want a path behind unix://");
    return ListenUrl{url, absl::StrCat("unix:", rest)};
  }
  if (absl::StartsWith(rest, "https://"))
    return UrlError(url, "TLS is not there yet; want http:// or unix://");
  if (!absl::ConsumePrefix(&rest, "http://")) return UrlError(url, "want http://IP:PORT or unix://PATH");
  absl::ConsumeSuffix(&rest, "/");
  const std::size_t colon = rest.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return UrlError(url, "want a port, as in http://127.0.0.1:2379");
  }
  if (!IsBindable(rest.substr(0, colon))) return UrlError(url, "want an IP address or localhost as host");
  return ListenUrl{url, std::string(rest)};
}

std::variant<ServeFlags, Exit> ParseCommandLine(int argc, const char* const* argv) {
  ServeFlags flags;
  RawFlags raw;
  const std::string version =
      absl::StrCat("kvist ", kKvistVersion, "\netcd API ", etcdv3::kEtcdVersion, "\n");
  CLI::App app(kDescription, "kvist");
  app.footer(kExamples);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  CLI::App* serve = app.add_subcommand("serve", "Serve clients until told to stop by SIGTERM or SIGINT");
  serve->footer(kExamples);
  AddServeFlags(serve, &flags, &raw);
  AddLogFlags(serve, &flags);
  const CLI::App* print_version = app.add_subcommand("version", "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ToExit(app, error);
  }
  if (print_version->parsed()) return Exit{0, version};
  if (absl::Status status = Resolve(raw, &flags); !status.ok()) {
    return Exit{1, absl::StrCat("kvist: ", status.message(), "\n")};
  }
  return flags;
}

}  // namespace kvist::server
