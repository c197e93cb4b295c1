// Whole scenarios on several processes, started as launchers start them: cluster_probe under torchrun-style
// variables and under mpirun.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "backends/cluster/mpi_transport.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using test::Children;
using Words = std::vector<std::string>;

/// Two rounds over the six strategies, and one with a fault.
const Words kSeeds{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "100", "101", "107"};

Words probe_with(const Words& words) {
  Words all{SHARDCHECK_CLUSTER_PROBE};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// The lines that any of the processes printed.
std::multiset<std::string> lines_of(const std::vector<test::Ended>& processes) {
  std::multiset<std::string> lines;
  for (const auto& ended : processes) {
    std::istringstream stream(ended.output);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
  }
  return lines;
}

std::vector<test::Ended> run_alone(const Words& words) {
  Children children;
  children.start(Children::Program{probe_with(words), {}});
  return children.wait_for_all();
}

std::vector<test::Ended> run_under_variables(int processes, const Words& words) {
  Children children;
  const std::string port = std::to_string(test::free_port());
  for (int process = 0; process < processes; ++process) {
    children.start(Children::Program{probe_with(words),
                                     {{"RANK", std::to_string(process)},
                                      {"WORLD_SIZE", std::to_string(processes)},
                                      {"LOCAL_RANK", std::to_string(process)},
                                      {"MASTER_ADDR", "127.0.0.1"},
                                      {"MASTER_PORT", port}}});
  }
  return children.wait_for_all();
}

test::Ended run_under_mpirun(int processes, const Words& words) {
  Words all{SHARDCHECK_MPIEXEC, "--oversubscribe", "-n", std::to_string(processes)};
  const Words probe = probe_with(words);
  all.insert(all.end(), probe.begin(), probe.end());
  Children children;
  // A container's root may run it, and shared memory between processes may be forbidden there.
  children.start(Children::Program{all,
                                   {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                    {"OMPI_MCA_rmaps_base_oversubscribe", "1"}}});
  return children.wait(0);
}

void expect_same_lines(const std::vector<test::Ended>& several, const std::vector<test::Ended>& one) {
  const auto found = lines_of(several), expected = lines_of(one);
  EXPECT_GT(expected.size(), 300u);
  std::vector<std::string> lost, gained;
  std::ranges::set_difference(expected, found, std::back_inserter(lost));
  std::ranges::set_difference(found, expected, std::back_inserter(gained));
  EXPECT_TRUE(lost.empty()) << lost.size() << " lines are missing, first: " << lost.front();
  EXPECT_TRUE(gained.empty()) << gained.size() << " lines are new, first: " << gained.front();
}

TEST(Probe, SeveralProcessesReadTheBitsOfOneAndFindWhatItFinds) {
  const auto one = run_alone(kSeeds);
  ASSERT_EQ(one[0].status, 1) << one[0].output;  // the fault is found
  for (const int processes : {2, 4}) {
    const auto several = run_under_variables(processes, kSeeds);
    for (const auto& ended : several) EXPECT_EQ(ended.status, 1) << ended.output;
    expect_same_lines(several, one);
  }
}

TEST(Probe, ScenariosWithoutAFaultHold) {
  for (const auto& ended : run_under_variables(2, {"0", "5"})) EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST(Probe, MoreProcessesThanRanksHaveNothingToDoButTakePart) {
  const auto one = run_alone({"0"});
  const auto several = run_under_variables(6, {"0"});  // four ranks
  for (const auto& ended : several) EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(lines_of(several), lines_of(one));
}

TEST(Probe, AKilledProcessEndsAllWithStatusThree) {
  const auto ended = run_under_variables(4, {"0", "1", "--die", "1"});
  EXPECT_EQ(ended[1].status, 128 + 9);
  for (const std::size_t process : {0, 2, 3}) {
    EXPECT_EQ(ended[process].status, 3);
    EXPECT_NE(ended[process].output.find("cluster: process 1 closed its connection while exchanging operands "
                                         "of op "),
              std::string::npos)
        << ended[process].output;
  }
}

TEST(Probe, AnInconsistentEnvironmentIsBadInput) {
  Children children;
  children.start(Children::Program{probe_with({"0"}), {{"RANK", "3"}}});
  const auto ended = children.wait(0);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.output, "RANK: is set, but WORLD_SIZE is not; a launcher sets both, one process neither\n");
}

class UnderMpirun : public testing::Test {
 protected:
  void SetUp() override {
    if (!mpi_missing().empty()) GTEST_SKIP() << "MPI is " << mpi_missing();
    const auto ended = run_under_mpirun(2, {});
    if (ended.status != 0) GTEST_SKIP() << "mpirun cannot start two processes here: " << ended.output;
  }
};

TEST_F(UnderMpirun, SeveralProcessesReadTheBitsOfOneAndFindWhatItFinds) {
  const auto one = run_alone(kSeeds);
  for (const int processes : {2, 4}) {
    const auto several = run_under_mpirun(processes, kSeeds);
    std::multiset<std::string> expected = lines_of(one), found = lines_of({several});
    // mpirun adds its own words to a job that ends with another status than 0.
    std::vector<std::string> lost;
    std::ranges::set_difference(expected, found, std::back_inserter(lost));
    EXPECT_TRUE(lost.empty()) << lost.size() << " lines are missing, first: " << lost.front();
    EXPECT_EQ(several.status, 1);
  }
}

TEST_F(UnderMpirun, AKilledProcessEndsTheJob) {
  const auto ended = run_under_mpirun(4, {"0", "1", "--die", "1"});
  EXPECT_FALSE(ended.was_late);
  EXPECT_NE(ended.status, 0) << ended.output;
}

}  // namespace
}  // namespace shardcheck
