// Whole scenarios on several processes, started as launchers start them: cluster_probe under torchrun-style
// variables and under mpirun.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "backends/cluster/mpi_transport.h"
#include "core/files.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using test::Children;
using Words = std::vector<std::string>;

/// Two rounds over the six strategies, and three with a fault.
const Words kSeeds{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "103", "109", "205"};

Words probe_with(const Words& words) {
  Words all{SHARDCHECK_CLUSTER_PROBE};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// mpirun takes its time, and all processes may share one processor.
const Words kFewSeeds{"0", "1", "2", "3", "4", "5", "103"};

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
  return children.wait(0, std::chrono::seconds(150));
}

/// What consumers read has the same bits, and what one process finds several find too: each of them stops at
/// a number of findings, so that together they may say more. Lines of a launcher do not count.
void expect_same_lines(const std::vector<test::Ended>& several, const std::vector<test::Ended>& one) {
  std::multiset<std::string> found = lines_of(several), expected = lines_of(one);
  EXPECT_GT(expected.size(), 200u);
  const auto is_read = [](const std::string& line) { return line.find(" rank ") < line.find("finding"); };
  EXPECT_EQ(std::ranges::count_if(found, is_read), std::ranges::count_if(expected, is_read));
  std::vector<std::string> lost;
  std::ranges::set_difference(expected, found, std::back_inserter(lost));
  EXPECT_TRUE(lost.empty()) << lost.size() << " lines are missing, first: " << lost.front();
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
  const auto one = run_alone(kFewSeeds);
  for (const int processes : {2, 4}) {
    const std::filesystem::path folder =
        std::filesystem::path(testing::TempDir()) / ("shardcheck_mpirun_" + std::to_string(processes));
    std::filesystem::create_directories(folder);
    Words words = kFewSeeds;
    words.insert(words.end(), {"--into", folder.string()});
    const auto ended = run_under_mpirun(processes, words);
    EXPECT_EQ(ended.status, 1) << ended.output;
    std::vector<test::Ended> several;
    for (int process = 0; process < processes; ++process) {
      const auto file = folder / std::to_string(process);
      ASSERT_TRUE(std::filesystem::exists(file)) << ended.output;
      several.push_back({.output = read_text(file, 1 << 24)});
    }
    std::filesystem::remove_all(folder);
    expect_same_lines(several, one);
  }
}

TEST_F(UnderMpirun, AKilledProcessEndsTheJob) {
  const auto ended = run_under_mpirun(4, {"0", "1", "--die", "1"});
  EXPECT_FALSE(ended.was_late);
  EXPECT_NE(ended.status, 0) << ended.output;
}

}  // namespace
}  // namespace shardcheck
