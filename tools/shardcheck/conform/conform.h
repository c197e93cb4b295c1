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

/// The same for tables of casts, of double roundings and of decoded codes (fp8 9); a case is a row.
std::optional<ConformReport> conform_casts(const std::filesystem::path& csv_file);

/// The same for planes of casts of all 16-bit numbers: bf16_to_fp8.bin and its like.
std::optional<ConformReport> conform_cast_planes(const std::filesystem::path& bin_file);

/// The same for tables of scale_from_amax (fp8 3.0).
std::optional<ConformReport> conform_scales(const std::filesystem::path& csv_file);

/// The same for delayed scaling (fp8 3.1); a case is a step.
std::optional<ConformReport> conform_delayed(const std::filesystem::path& json_file);

/// The same for matrices quantised by a recipe (fp8 3.2 to 3.5).
std::optional<ConformReport> conform_quantised(const std::filesystem::path& json_file);

/// The same for dot products of FP8 codes; a case is one rounding of one dot product.
std::optional<ConformReport> conform_dot_products(const std::filesystem::path& json_file);

/// The same for recorded shard layouts, one JSON value a line.
std::optional<ConformReport> conform_layouts(const std::filesystem::path& jsonl_file);

}  // namespace shardcheck
