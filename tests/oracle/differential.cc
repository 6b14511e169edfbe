#include "tests/oracle/differential.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <span>

#include "absl/strings/str_cat.h"
#include "tests/oracle/side.h"
#include "tests/support/temp_dir.h"

namespace kvist::blackbox {
namespace {

// Both servers work on a batch at the same time; then its replies are compared.
constexpr std::size_t kBatch = 64;
// Watches are brought up to date this often, to keep what is pending small.
constexpr std::size_t kSettleEvery = 16 * kBatch;

std::unique_ptr<ServerProcess> StartIn(ServerOptions options, const std::string& directory) {
  options.data_dir = directory;
  auto server = ServerProcess::Start(options);
  if (server.ok()) return *std::move(server);
  std::fprintf(stderr, "cannot start %s: %s\n", options.binary.c_str(),
               std::string(server.status().message()).c_str());
  std::exit(2);
}

// What a server that has ended said last; empty if it has not.
std::string Obituary(const std::string& name, ServerProcess* server) {
  if (server->Running()) return "";
  const std::string log = server->Log();
  const std::size_t last = log.size() > 3000 ? log.size() - 3000 : 0;
  return absl::StrCat("    the ", name, " server has ended; the end of its log:\n", log.substr(last), "\n");
}

// The first reply of the batch that differs. `first` is the index of the batch's first step.
std::optional<Difference> CompareAll(const std::vector<Reply>& left, const std::vector<Reply>& right,
                                     std::size_t first) {
  const std::size_t both = std::min(left.size(), right.size());
  for (std::size_t i = 0; i < both; ++i) {
    std::string text = Compare(left[i], right[i]);
    if (!text.empty()) return Difference{first + i, std::move(text)};
  }
  return std::nullopt;
}

template <typename Left, typename Right>
auto AtTheSameTime(Left left, Right right) {
  auto left_result = std::async(std::launch::async, left);
  auto right_result = right();
  return std::make_pair(left_result.get(), std::move(right_result));
}

void Count(const std::vector<Reply>& replies, Tally* tally) {
  for (const Reply& reply : replies) {
    ++(reply.status.ok() ? tally->accepted : tally->refused);
    for (const auto& [where, message] : reply.messages) tally->watch_messages += where.empty() ? 0 : 1;
  }
}

std::optional<Difference> PlayToBoth(std::span<const Operation> operations, Side* left, Side* right,
                                     Tally* tally) {
  const auto settle = [&](std::size_t step) -> std::optional<Difference> {
    const auto [l, r] = AtTheSameTime([&] { return left->Settle(); }, [&] { return right->Settle(); });
    std::string text = Compare(l, r);
    if (text.empty()) return std::nullopt;
    return Difference{step, std::move(text)};
  };
  for (std::size_t first = 0; first < operations.size(); first += kBatch) {
    const auto batch = operations.subspan(first, std::min(kBatch, operations.size() - first));
    const auto [l, r] = AtTheSameTime([&] { return left->Play(batch); }, [&] { return right->Play(batch); });
    Count(r, tally);
    std::optional<Difference> difference = CompareAll(l, r, first);
    if (!difference && (first + kBatch) % kSettleEvery == 0) difference = settle(first + batch.size());
    if (difference) return difference;
  }
  return settle(operations.size());
}

std::vector<Operation> Without(const std::vector<Operation>& operations, std::size_t begin,
                               std::size_t size) {
  std::vector<Operation> rest(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(begin));
  const std::size_t end = std::min(begin + size, operations.size());
  rest.insert(rest.end(), operations.begin() + static_cast<std::ptrdiff_t>(end), operations.end());
  return rest;
}

}  // namespace

std::optional<Difference> Pair::Run(const std::vector<Operation>& operations, Tally* tally) const {
  const TempDir directory;
  const auto left_server = StartIn(left_, directory.path() + "/left");
  const auto right_server = StartIn(right_, directory.path() + "/right");
  Side left(left_server->port(), dialect_);
  Side right(right_server->port(), dialect_);
  std::optional<Difference> difference = PlayToBoth(operations, &left, &right, tally);
  if (difference)
    difference->text += Obituary("left", left_server.get()) + Obituary("right", right_server.get());
  return difference;
}

Finding Pair::Shrink(std::vector<Operation> operations, Difference difference,
                     std::chrono::seconds time) const {
  const auto deadline = std::chrono::steady_clock::now() + time;
  // What came after the difference does not matter.
  const auto keep_until = [&operations](std::size_t step) {
    operations.resize(std::min(operations.size(), step + 1));
  };
  keep_until(difference.step);
  for (std::size_t size = std::max<std::size_t>(1, operations.size() / 2); size > 0; size /= 2) {
    for (std::size_t begin = operations.size(); begin > 0 && std::chrono::steady_clock::now() < deadline;) {
      begin -= std::min(begin, size);
      std::vector<Operation> fewer = Without(operations, begin, size);
      Tally unused;
      std::optional<Difference> still = Run(fewer, &unused);
      if (!still) continue;
      operations = std::move(fewer);
      difference = *std::move(still);
      keep_until(difference.step);
      begin = std::min(begin, operations.size());
    }
  }
  return {std::move(operations), std::move(difference)};
}

std::string Describe(const Finding& finding) {
  std::string text =
      absl::StrCat("a difference, and the ", finding.sequence.size(), " steps that lead to it:\n");
  for (std::size_t i = 0; i < finding.sequence.size(); ++i) {
    absl::StrAppend(&text, "  ", i + 1, ". ", Describe(finding.sequence[i]), "\n");
  }
  absl::StrAppend(&text, "  after step ", std::min(finding.difference.step + 1, finding.sequence.size()),
                  ":\n", finding.difference.text);
  return text;
}

}  // namespace kvist::blackbox
