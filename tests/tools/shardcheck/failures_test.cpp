// The folder of kept failures: names, what is listed, and a folder that cannot be made.
#include "tools/shardcheck/failures.h"

#include "core/error.h"
#include "sim/scenario/json.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class Failures : public InFolder {
 protected:
  Scenario scenario_ = scenario_from_json(broken_scenario(), "test");
  FailureName name_{"legal-beta", "W4", "cpu"};
  FailureFolder folder_{"kept"};
};

TEST_F(Failures, AreNamedByWhatFailedAndReadBack) {
  EXPECT_TRUE(folder_.list().empty());
  const auto file = folder_.save(name_, counterexample_of(scenario_), FailureFolder::Kind::searched);
  EXPECT_EQ(folder_.save(name_, counterexample_of(scenario_), FailureFolder::Kind::searched), file)
      << "one failure is one file";
  const auto kept = folder_.list();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].file, file);
  EXPECT_EQ(kept[0].name.property, "legal-beta");
  EXPECT_EQ(kept[0].name.clause, "W4");
  EXPECT_EQ(kept[0].name.backend, "cpu");
  EXPECT_EQ(read_scenario(file), scenario_);
}

TEST_F(Failures, OnlyJsonFilesOfTheFolderItselfAreListed) {
  folder_.save(name_, counterexample_of(scenario_), FailureFolder::Kind::given);
  write("kept/note.txt", "");
  write("kept/mailed.json", "{}");
  const auto kept = folder_.list();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_TRUE(kept[0].name.property.empty());
}

TEST_F(Failures, AMendedOneIsSetAside) {
  const auto file = folder_.save(name_, counterexample_of(scenario_), FailureFolder::Kind::searched);
  EXPECT_EQ(folder_.set_aside(file), std::filesystem::path("kept") / "mended" / file.filename());
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Failures, AFolderThatCannotBeMadeIsTheMachinesFault) {
  write("kept", "a file");
  try {
    folder_.save(name_, counterexample_of(scenario_), FailureFolder::Kind::searched);
    ADD_FAILURE() << "saved";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::machine_cannot);
    EXPECT_TRUE(holds(error.what(), "kept: cannot create the folder")) << error.what();
  }
  EXPECT_EQ(files(), std::vector<std::string>{"kept"});
}

TEST_F(Failures, ABackendIsAWordInAFileName) {
  EXPECT_EQ(label_of({}), "cpu");
  EXPECT_EQ(label_of({.backend = "faulty:truncate-add", .profile = "hopper"}), "faulty-truncate-add-hopper");
  EXPECT_EQ(label_of({.backend = "cuda", .against = "cpu"}), "cuda-against-cpu-hopper");
  EXPECT_EQ(label_of({.backend = "../x.y"}), "---x-y");
}

}  // namespace
}  // namespace shardcheck
