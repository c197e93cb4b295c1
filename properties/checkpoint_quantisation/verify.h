// Verify the quantised copies of a whole checkpoint, tensor by tensor, and say of every one that is wrong
// where and of what kind the difference is. Next: sweep.h for what is judged, explanation.h for the kinds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_files.h"
#include "properties/checkpoint_quantisation/explanation.h"
#include "properties/checkpoint_quantisation/sweep.h"

namespace shardcheck::verify {

/// A broken clause that is not about single blocks.
struct Problem {
  std::string clause;  ///< "F35"; empty where none speaks of it
  std::string sentence;
};

/// A broken block as people read it.
struct Example {
  BrokenBlock broken;
  recipe::Extent at;  ///< row and column of the block in the grid
  layout::Range rows, columns;
  float inverse = 0, right_inverse = 0;  ///< values of the stored and of the right scale
  float source = 0;                      ///< of the wrong element, where there is a source
};

/// One tensor of codes, or a copied one.
struct TensorReport {
  std::string name;
  std::string recipe;  ///< that it was held against; empty where there was none
  std::vector<std::string_view>
      equals;  ///< recipes that explain a sample as well, where it was chosen by that
  FormatId elements = FormatId::e4m3;
  FormatId scale_format = FormatId::f32;
  recipe::Extent extent, grid;
  bool has_source = false;
  bool is_judged = true;  ///< false: left out, for the reason in `problems`
  Sweep sweep;
  std::vector<Problem> problems;
  Explanation explanation;
  std::vector<Example> examples;  ///< of the specimens

  bool holds() const { return problems.empty() && sweep.broken_blocks == 0; }
};

struct Report {
  std::vector<TensorReport> tensors;  ///< with codes
  std::vector<TensorReport> copied;   ///< without, that differ from the source
  std::int64_t copies = 0;            ///< tensors without codes that were compared
  std::int64_t bytes = 0;             ///< read
  bool is_complete = true;            ///< false: it was stopped

  bool holds() const;
  std::int64_t broken() const;
};

struct Request {
  const checkpoint::TensorFiles& files;
  const checkpoint::TensorFiles* source = nullptr;  ///< high-precision tensors of the same names
  const recipe::Recipe* recipe = nullptr;           ///< null: the file's metadata, else the likeliest
  std::function<bool(const std::string& name)> is_chosen;
  SweepOptions options;
  /// Before each tensor, and before one that does not hold is looked at closely, with what is being done.
  std::function<void(const std::string& what)> begin;
  /// After each tensor with codes.
  std::function<void(const TensorReport& report)> end;
};

/// Elements of all chosen tensors of codes, by which progress is measured.
std::int64_t elements_of(const Contents& contents);

/// Throws Error(bad_input) where the file names a recipe that is not known, and where the source lacks a
/// tensor or has it in a type that is no source.
Report verify_checkpoint(const Request& request, const Contents& contents);

}  // namespace shardcheck::verify
