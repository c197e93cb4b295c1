#include "tools/shardcheck/record/gemms.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/error.h"
#include "properties/gemm_law/execute.h"
#include "tools/shardcheck/machine.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

std::string operand_name(DType type) {
  return (bytes_of(type) == 1 ? "f8_" : "") + std::string(name_of(type));
}

ordered_json scale_name(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::none: return nullptr;
    case ScaleKind::tensor: return "tensor";
    case ScaleKind::outer_vector: return "outer_vector";
    case ScaleKind::vector128: return "vec128";
    case ScaleKind::block128x128: return "block128x128";
  }
  return nullptr;
}

/// What computed each case. A GPU says it once a shape, when the shape is new.
class Algorithms {
 public:
  Algorithms(const Backend& backend, const ComputedBy& computed_by)
      : backend_(backend), computed_by_(computed_by) {}

  /// After the case was run; empty for a backend that says nothing.
  std::string of(const GemmCase& c) {
    GemmCase shape = c;
    shape.op.alpha = 1;
    shape.operands = OperandFamily::uniform;
    shape.scales = ScaleFamily::ones;
    shape.seed = 0;
    const std::vector<std::string> lines = computed_by_(backend_);
    std::string& line = by_shape_[describe(shape)];
    if (lines.size() > seen_) line = lines.back();
    seen_ = lines.size();
    return line;
  }

 private:
  const Backend& backend_;
  const ComputedBy& computed_by_;
  std::map<std::string, std::string> by_shape_;
  std::size_t seen_ = 0;
};

class Recorder {
 public:
  void add(const GemmCase& c, const GemmInputs& inputs, std::span<const std::byte> d,
           const std::string& computed_by) {
    ordered_json json = {{"id", std::ssize(cases_)},
                         {"a", operand_name(c.a)},
                         {"b", operand_name(c.b)},
                         {"d", name_of(c.d)},
                         {"trans", fmt::format("{}{}", c.op.a == OperandLayout::transposed ? 'T' : 'N',
                                               c.op.b == OperandLayout::transposed ? 'T' : 'N')},
                         {"scale_a", scale_name(c.op.scales_a)},
                         {"scale_b", scale_name(c.op.scales_b)},
                         {"fast_accum", c.op.fast_accumulation},
                         {"alpha", c.op.alpha},
                         {"beta", c.op.accumulate ? 1 : 0},
                         {"m", c.op.m},
                         {"n", c.op.n},
                         {"k", c.op.k},
                         {"family", name_of(c.operands)},
                         {"computed_by", computed_by},
                         {"split_k", 1}};
    json["off_a"] = place(inputs.a);
    json["off_b"] = place(inputs.b);
    json["off_sa"] = place(std::as_bytes(std::span(inputs.scales_a)));
    json["len_sa"] = inputs.scales_a.size();
    json["off_sb"] = place(std::as_bytes(std::span(inputs.scales_b)));
    json["len_sb"] = inputs.scales_b.size();
    json["off_c"] = place(inputs.c);
    json["off_d"] = place(d);
    cases_.push_back(std::move(json));
  }

  RecordedGemms finished(const BackendInfo& machine, const std::vector<std::string>& versions) && {
    const auto count = std::ssize(cases_);
    ordered_json document = {
        {"machine", {{"backend", machine.name}, {"device", machine.device}, {"profile", machine.profile}}},
        {"versions", versions},
        {"cases", std::move(cases_)}};
    return {document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n", std::move(data_),
            count, 0};
  }

 private:
  /// Appends and says where.
  std::size_t place(std::span<const std::byte> bytes) {
    const std::size_t at = data_.size();
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return at;
  }

  ordered_json cases_ = ordered_json::array();
  std::vector<std::byte> data_;
};

/// D, or nothing when the backend refuses the product.
std::optional<std::vector<std::byte>> computed(Backend& backend, const GemmCase& c,
                                               const GemmInputs& inputs) {
  try {
    return execute_gemm(backend, c, inputs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return std::nullopt;
  }
}

}  // namespace

RecordedGemms record_gemms(Backend& backend, const GemmRecording& recording,
                           const std::vector<std::string>& versions, const ComputedBy& computed_by) {
  Recorder recorder;
  Algorithms algorithms(backend, computed_by);
  std::int64_t left_out = 0;
  for (std::int64_t i = 0; i < recording.cases; ++i) {
    Draw draw(recording.seed, static_cast<std::uint64_t>(i));
    const GemmCase c = library_gemm_case(draw);
    const GemmInputs inputs = inputs_of(c);
    const auto d = computed(backend, c, inputs);
    const std::string how = d ? algorithms.of(c) : "";
    const bool is_the_machines = d && (how.empty() || is_by_library(how));
    if (!is_the_machines) {
      ++left_out;
      continue;
    }
    recorder.add(c, inputs, *d, how);
  }
  RecordedGemms recorded = std::move(recorder).finished(backend.info(), versions);
  recorded.left_out = left_out;
  return recorded;
}

}  // namespace shardcheck
