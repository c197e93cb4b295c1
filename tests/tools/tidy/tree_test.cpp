#include "tools/tidy/tree.h"

#include <gtest/gtest.h>

#include <fstream>

namespace shardcheck::tidy {
namespace {

void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(Tree, ReadsRoomsAndLeavesOutDotEntriesAndIgnoredNames) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "shardcheck_tidy_tree";
  std::filesystem::remove_all(root);
  write(root / ".gitignore", "/build/\nlocal.json\n");
  write(root / "build/x.h", "");
  write(root / "local.json", "");
  write(root / ".cache/x.h", "");
  write(root / "core/plan/op.h", "first\nsecond\n");
  write(root / "tests/data/golden.bin", "not read");
  const Tree tree = read_tree(root);
  std::filesystem::remove_all(root);

  EXPECT_EQ(tree.top_entries, (std::vector<std::string>{"core", "tests"}));
  ASSERT_EQ(tree.files.size(), 2u);
  EXPECT_EQ(tree.files[0].path, "core/plan/op.h");
  EXPECT_EQ(tree.files[0].lines, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(tree.files[1].path, "tests/data/golden.bin");
  EXPECT_TRUE(tree.files[1].lines.empty());
}

TEST(Tree, TakesPathsApart) {
  EXPECT_EQ(folder_of("core/plan/op.h"), "core/plan");
  EXPECT_EQ(folder_of("README.md"), "");
  EXPECT_EQ(base_name_of("core/plan/op.h"), "op.h");
  EXPECT_EQ(room_of("core/plan/op.h"), "core");
  EXPECT_TRUE(is_inside("core/plan/op.h", "core"));
  EXPECT_FALSE(is_inside("core_two/op.h", "core"));
}

}  // namespace
}  // namespace shardcheck::tidy
