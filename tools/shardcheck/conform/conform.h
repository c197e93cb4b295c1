// Recorded results of a chip or a library, computed again here: what `shardcheck conform FILE` does. One
// function a kind of recording; each says by nullopt that a file is not of its kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shardcheck {

/// One recorded value that this project computes differently.
struct Disagreement {
  std::string case_id;
  std::string sentence;
};

/// What became of a file. `cases` = agreements + unsupported + cases with a disagreement.
struct ConformReport {
  std::string file;
  std::string kind;
  std::int64_t cases = 0;
  std::int64_t agreements = 0;
  std::int64_t unsupported = 0;
  std::vector<Disagreement> disagreements;
};

/// Recomputes every output of every recorded GEMM with the `hopper` profile and compares bits (with NaN or
/// infinity among the operands the class). The data lie in a .bin of the same name beside the JSON. nullopt
/// when the content is not recorded GEMMs; throws bad_input when the file is damaged. Law F66.
std::optional<ConformReport> conform_gemm(const std::filesystem::path& json_file);

/// The same for recorded shard layouts, one JSON value a line.
std::optional<ConformReport> conform_layouts(const std::filesystem::path& jsonl_file);

}  // namespace shardcheck
