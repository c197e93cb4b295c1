#include "tools/tidy/include_rules.h"

#include <algorithm>

namespace shardcheck::tidy {
namespace {

struct Include {
  std::string_view target;  ///< core/types.h of #include "core/types.h"; empty when the line includes nothing
  bool quoted = false;
};

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

Include include_of(std::string_view line) {
  line = without_leading_blanks(line);
  if (!line.starts_with('#')) return {};
  line = without_leading_blanks(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = without_leading_blanks(line.substr(7));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const bool quoted = line[0] == '"';
  const auto end = line.find(quoted ? '"' : '>', 1);
  return end == std::string_view::npos ? Include{} : Include{line.substr(1, end - 1), quoted};
}

/// The include lines for which forbidden(path, include) holds.
template <class Forbidden>
Offences includes_where(const Tree& tree, Forbidden forbidden) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_header(file.path) && !is_translation_unit(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const Include include = include_of(file.lines[i]);
      if (include.target.empty() || !forbidden(std::string_view(file.path), include)) continue;
      offences.push_back({file.path, static_cast<int>(i) + 1, file.lines[i]});
    }
  }
  return offences;
}

struct Arrow {
  std::string_view from, to;
};
/// The plan of the house. Rooms that are no `from` may include every room.
constexpr Arrow kArrows[] = {
    {"core", "core"}, {"backends", "backends"}, {"backends", "core"},  {"sim", "sim"},
    {"sim", "core"},  {"properties", "core"},   {"properties", "sim"}, {"properties", "properties"},
};
constexpr std::string_view kRooms[] = {"core", "backends", "sim", "properties", "tools", "tests"};

bool may_include(std::string_view from, std::string_view to) {
  if (std::ranges::find(kRooms, to) == std::end(kRooms)) return true;  // a library
  if (std::ranges::find(kArrows, from, &Arrow::from) == std::end(kArrows)) return true;
  return std::ranges::any_of(kArrows,
                             [&](const Arrow& arrow) { return arrow.from == from && arrow.to == to; });
}

bool is_cuda(std::string_view target) {
  constexpr std::string_view beginnings[] = {"cuda",  "cublas",   "nccl",    "cub/",
                                             "cute/", "cutlass/", "thrust/", "nvtx",
                                             "nvrtc", "nvml",     "curand",  "cooperative_groups"};
  return std::ranges::any_of(beginnings, [&](std::string_view begin) { return target.starts_with(begin); });
}

}  // namespace

Offences forbidden_arrows(const Tree& tree) {
  return includes_where(tree, [](std::string_view path, const Include& include) {
    return !may_include(room_of(path), room_of(include.target));
  });
}

Offences relative_includes(const Tree& tree) {
  return includes_where(tree, [](std::string_view, const Include& include) {
    const bool upward = include.target.find("..") != std::string_view::npos;
    return include.quoted && (upward || include.target.find('/') == std::string_view::npos);
  });
}

Offences eigen_outside_cpu(const Tree& tree) {
  return includes_where(tree, [](std::string_view path, const Include& include) {
    const bool eigen =
        include.target.starts_with("Eigen/") || include.target.starts_with("unsupported/Eigen");
    return eigen && !is_inside(path, "backends/cpu");
  });
}

Offences cuda_outside_cuda(const Tree& tree) {
  return includes_where(tree, [](std::string_view path, const Include& include) {
    return is_cuda(include.target) && !is_inside(path, "backends/cuda");
  });
}

Offences rapidcheck_outside_properties(const Tree& tree) {
  return includes_where(tree, [](std::string_view path, const Include& include) {
    const bool rapidcheck = include.target == "rapidcheck.h" || include.target.starts_with("rapidcheck/");
    return rapidcheck && !is_inside(path, "properties") && !is_inside(path, "tests");
  });
}

Offences json_in_core_headers(const Tree& tree) {
  return includes_where(tree, [](std::string_view path, const Include& include) {
    return include.target.starts_with("nlohmann/") && is_inside(path, "core") && is_header(path);
  });
}

}  // namespace shardcheck::tidy
