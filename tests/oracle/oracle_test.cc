// Does kvist answer as etcd does? The same random sequence goes to both, and each field of each reply and
// each event is compared, all but ids and terms.
//
//   KVIST_OPS=100000 KVIST_SEED=7 oracle_test   a long run, repeatable
//   KVIST_ORACLE=/path/to/etcd                  which etcd to compare with

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/oracle/differential.h"
#include "tests/oracle/generator.h"
#include "tests/support/random.h"

namespace kvist::blackbox {
namespace {

std::vector<Operation> Sequence(std::uint64_t seed, const Dialect& dialect, std::int64_t length) {
  Generator generator(seed, dialect);
  std::vector<Operation> operations;
  for (std::int64_t i = 0; i < length; ++i) operations.push_back(generator.Next());
  return operations;
}

ServerOptions Etcd() { return {.binary = EtcdBinary(), .is_etcd = true, .sync = false}; }

ServerOptions Kvist() {
  ServerOptions options = ServerUnderTest();
  options.sync = false;
  return options;
}

class OracleTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(EtcdBinary(), "")
        << "no etcd to compare with: install Debian's etcd-server, or set KVIST_ORACLE";
    const std::string version = EtcdVersion(EtcdBinary());
    dialect_ = DialectOf(version);
    std::printf("oracle: %s, etcd %s\n", EtcdBinary().c_str(), version.c_str());
    if (!LeftOut(dialect_).empty())
      std::printf("not compared with this version: %s\n", LeftOut(dialect_).c_str());
  }

  // Fails the test with the shortest sequence found, if the two differ.
  void ExpectAlike(const ServerOptions& left, const ServerOptions& right, std::int64_t length) {
    const std::uint64_t seed = ChooseSeed();
    const Pair pair(left, right, dialect_);
    const std::vector<Operation> operations = Sequence(seed, dialect_, length);
    Tally tally;
    const std::optional<Difference> difference = pair.Run(operations, &tally);
    if (!difference) {
      std::printf("%zu operations without a difference: %zu accepted, %zu refused, %zu watch messages\n",
                  operations.size(), tally.accepted, tally.refused, tally.watch_messages);
      // Sequences that are mostly refused, or see no events, would compare little.
      EXPECT_GT(tally.accepted, operations.size() / 2);
      EXPECT_GT(tally.refused, operations.size() / 50);
      EXPECT_GT(tally.watch_messages, operations.size() / 20);
      return;
    }
    std::printf("a difference after step %zu; looking for fewer steps\n%s", difference->step + 1,
                difference->text.c_str());
    std::fflush(stdout);
    const std::chrono::seconds time(NumberFromEnvironment("KVIST_SHRINK_SECONDS", 120));
    ADD_FAILURE() << "seed " << seed << ": " << Describe(pair.Shrink(operations, *difference, time));
  }

  Dialect dialect_;
};

// The comparison reports nothing where there is nothing: etcd is like itself.
TEST_F(OracleTest, EtcdIsLikeEtcd) {
  ExpectAlike(Etcd(), Etcd(), NumberFromEnvironment("KVIST_SELF_OPS", 1500));
}

TEST_F(OracleTest, KvistIsLikeEtcd) {
  ExpectAlike(Kvist(), Etcd(), NumberFromEnvironment("KVIST_OPS", 3000));
}

// And it finds a difference where there is one, and what it takes to show it: an etcd that allows fewer
// operations in a Txn is told from another by a single Txn.
TEST_F(OracleTest, ADifferenceIsFoundAndCutToOneStep) {
  ServerOptions strict = Etcd();
  strict.extra_flags = {"--max-txn-ops=1"};
  const Pair pair(Etcd(), strict, dialect_);
  const std::vector<Operation> operations = Sequence(1, dialect_, 64);
  Tally tally;
  const std::optional<Difference> difference = pair.Run(operations, &tally);
  ASSERT_TRUE(difference.has_value());
  const Finding finding = pair.Shrink(operations, *difference, std::chrono::seconds(60));
  EXPECT_EQ(finding.sequence.size(), 1U) << Describe(finding);
  EXPECT_TRUE(std::holds_alternative<etcdserverpb::TxnRequest>(finding.sequence[0])) << Describe(finding);
  EXPECT_NE(finding.difference.text.find("too many operations in txn request"), std::string::npos);
}

}  // namespace
}  // namespace kvist::blackbox
