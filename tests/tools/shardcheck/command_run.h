// Running the command inside a test: in a folder of its own, with what it printed and its exit status.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/shardcheck/command.h"
#include "tools/shardcheck/interrupt.h"

namespace shardcheck {

struct CommandRun {
  int status = 0;
  std::string out, err;
};

inline CommandRun run(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  const int status = run_command(std::move(arguments), out, err);
  return {status, out.str(), err.str()};
}

/// Text with every run of spaces and line ends as one space: how a terminal wraps is not what is tested.
inline std::string unwrapped(const std::string& text) {
  std::string flat;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || flat.empty() || flat.back() != ' ') flat += space ? ' ' : c;
  }
  return flat;
}

inline bool holds(const std::string& text, const std::string& part) {
  return unwrapped(text).find(unwrapped(part)) != std::string::npos;
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The working directory is a fresh folder of this process while the test runs; no interrupt is left behind.
class InFolder : public ::testing::Test {
 protected:
  InFolder() : before_(std::filesystem::current_path()) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::path(::testing::TempDir()) / (std::string("shardcheck_") + test->test_suite_name() +
                                                       "_" + test->name() + "_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ~InFolder() override {
    interrupt_flag() = false;
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  /// A file in the folder; its name.
  static std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(name).parent_path().empty()
                                            ? std::filesystem::path(".")
                                            : std::filesystem::path(name).parent_path());
    std::ofstream(name, std::ios::binary) << text;
    return name;
  }

  /// Every file under the folder, sorted.
  static std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(".")) {
      if (entry.is_regular_file()) names.push_back(entry.path().lexically_normal().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path before_, folder_;
};

/// Two fused uses of one weight in one lease, by today's ops path: the second use erases the first (W4).
inline std::string broken_scenario() {
  return R"({
  "schema": 1,
  "owner": {"strategy": "megatron-fsdp-v1/optim_grads"},
  "protocol": {"write_mode": "te-ops"},
  "parameters": [{"name": "w", "shape": [2, 2]}],
  "uses": [{"parameter": "w", "producer": "fused"}, {"parameter": "w", "producer": "fused"}]
}
)";
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The same by the first-touch bit, which is right.
inline std::string sound_scenario() {
  return replaced(broken_scenario(), "te-ops", "R5");
}

}  // namespace shardcheck
