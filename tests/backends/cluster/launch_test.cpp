#include "backends/cluster/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace shardcheck {
namespace {

using Set = std::map<std::string, std::string>;

Launch launch(const Set& set) {
  return launch_from([&](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string sentence(const Set& set) {
  try {
    launch(set);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "nothing was wrong";
}

const Set kTorchrun{{"RANK", "5"},
                    {"WORLD_SIZE", "8"},
                    {"LOCAL_RANK", "1"},
                    {"MASTER_ADDR", "node0"},
                    {"MASTER_PORT", "29500"}};

Set with(Set set, const std::string& name, const std::string& value) {
  set[name] = value;
  return set;
}
Set without(Set set, const std::string& name) {
  set.erase(name);
  return set;
}

TEST(Launch, WithoutVariablesIsOneProcess) {
  const Launch alone = launch({});
  EXPECT_EQ(alone.process, 0);
  EXPECT_EQ(alone.processes, 1);
  EXPECT_EQ(alone.how, "one process");
  // MASTER_PORT alone says nothing: shells of clusters often have it.
  EXPECT_EQ(launch({{"MASTER_PORT", "29500"}}).processes, 1);
}

TEST(Launch, ReadsTorchrunsVariables) {
  const Launch found = launch(kTorchrun);
  EXPECT_EQ(found.process, 5);
  EXPECT_EQ(found.processes, 8);
  EXPECT_EQ(found.local, 1);
  EXPECT_EQ(found.address, "node0");
  EXPECT_EQ(found.port, 29500);
  EXPECT_EQ(found.how, "torchrun-style variables");
  EXPECT_EQ(launch(without(kTorchrun, "LOCAL_RANK")).local, 5);
  // torchrun's agent listens on MASTER_PORT itself.
  EXPECT_EQ(launch(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True")).port, 29501);
}

TEST(Launch, PrefersTorchrunsVariablesToOpenMpis) {
  Set set{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  const Launch found = launch(set);
  EXPECT_EQ(found.process, 1);
  EXPECT_EQ(found.processes, 2);
  EXPECT_EQ(found.local, 1);
  EXPECT_EQ(found.port, 0);
  EXPECT_EQ(found.how, "Open MPI");
  set.insert(kTorchrun.begin(), kTorchrun.end());
  EXPECT_EQ(launch(set).process, 5);
}

TEST(Launch, SaysWhatIsInconsistent) {
  EXPECT_EQ(sentence(without(kTorchrun, "WORLD_SIZE")),
            "RANK: is set, but WORLD_SIZE is not; a launcher sets both, one process neither");
  EXPECT_EQ(sentence(without(kTorchrun, "RANK")),
            "WORLD_SIZE: is set, but RANK is not; a launcher sets both, one process neither");
  EXPECT_EQ(sentence(with(kTorchrun, "RANK", "8")), "RANK: 8 is not below WORLD_SIZE, which is 8");
  EXPECT_EQ(sentence(with(kTorchrun, "RANK", "five")),
            "RANK: \"five\" is not a whole number from 0 to 65535");
  EXPECT_EQ(sentence(with(kTorchrun, "LOCAL_RANK", "6")), "LOCAL_RANK: 6 is above RANK, which is 5");
  EXPECT_EQ(sentence(with(kTorchrun, "MASTER_PORT", "0")),
            "MASTER_PORT: \"0\" is not a whole number from 1 to 65535");
  EXPECT_EQ(sentence(without(kTorchrun, "MASTER_PORT")),
            "MASTER_ADDR: is set, but MASTER_PORT is not; process 0 is found by both");
  EXPECT_EQ(sentence(without(kTorchrun, "MASTER_ADDR")),
            "MASTER_PORT: is set, but MASTER_ADDR is not; process 0 is found by both");
  EXPECT_EQ(sentence(without(without(kTorchrun, "MASTER_ADDR"), "MASTER_PORT")),
            "WORLD_SIZE: is 8, but MASTER_ADDR and MASTER_PORT, where process 0 is to be found, are not set");
  EXPECT_EQ(
      sentence({{"OMPI_COMM_WORLD_SIZE", "2"}}),
      "OMPI_COMM_WORLD_SIZE: is set, but OMPI_COMM_WORLD_RANK is not; a launcher sets both, one process "
      "neither");
}

}  // namespace
}  // namespace shardcheck
