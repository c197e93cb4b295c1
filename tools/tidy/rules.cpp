#include "tools/tidy/rules.h"

#include <fmt/format.h>

#include "tools/tidy/file_rules.h"
#include "tools/tidy/include_rules.h"
#include "tools/tidy/line_rules.h"

namespace shardcheck::tidy {
namespace {

constexpr Rule kRules[] = {
    {"room_arrows",
     "no such arrow between rooms: core includes core; backends core; sim core; properties core and sim; "
     "tools and "
     "tests all",
     forbidden_arrows},
    {"rooted_includes", "an include path starts at the root of the tree, so that its room can be read",
     relative_includes},
    {"eigen_in_cpu", "Eigen is included in backends/cpu only", eigen_outside_cpu},
    {"cuda_in_cuda", "CUDA, cuBLASLt and NCCL are included in backends/cuda only", cuda_outside_cuda},
    {"rapidcheck_in_properties", "RapidCheck is included in properties and tests only",
     rapidcheck_outside_properties},
    {"json_in_sources", "a header of core does not include nlohmann-json; a .cpp file may",
     json_in_core_headers},
    {"line_length", "the line is longer than 120 characters", long_lines},
    {"using_namespace", "a header has no using-directive, because every includer would inherit it",
     using_namespace_in_headers},
    {"no_tolerance",
     "results are compared bit for bit or within a derived bound, never within a guessed tolerance",
     tolerances},
    {"no_machine_paths", "an absolute path of one machine works on that machine only", machine_paths},
    {"file_length", "the file is longer than 500 lines: look for the second job in it", long_files},
    {"header_beside_source", "no header lies beside this source file", sources_without_header},
    {"no_dead_files", "no CMakeLists.txt lists this source file", unlisted_sources},
    {"telling_names", "the name says nothing of the job: utils, helpers, common, manager", vague_names},
    {"top_folder", "the root folder holds the rooms and the agreed files only", unknown_top_entries},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::string describe(const Rule& rule, const Offence& offence) {
  const std::string place =
      offence.line > 0 ? fmt::format("{}:{}", offence.path, offence.line) : offence.path;
  return fmt::format("{}: {}{}{}", place, rule.sentence, offence.excerpt.empty() ? "" : ": ",
                     offence.excerpt);
}

}  // namespace shardcheck::tidy
