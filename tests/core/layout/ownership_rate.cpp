// Measures the set-up of every layout and one ownership query from 8 to 131,072 ranks, on the tensors of a
// model like Llama-3-70B (shard-layouts 7). One line a layout; planner R1 stops where its search grows.
#include <fmt/format.h>

#include <chrono>

#include "core/error.h"
#include "core/layout/ownership.h"
#include "core/layout/registry.h"
#include "core/numerics/philox.h"

namespace shardcheck::layout {
namespace {

std::vector<Parameter> llama_70b() {
  constexpr std::int64_t kHidden = 8192, kWide = 28672, kVocabulary = 128256, kLayers = 80;
  std::vector<Parameter> parameters{{.name = "embed", .shape = {kVocabulary, kHidden}}};
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{kHidden, kHidden},
                                                                    {kHidden / 8, kHidden},
                                                                    {kHidden / 8, kHidden},
                                                                    {kHidden, kHidden},
                                                                    {kWide, kHidden},
                                                                    {kWide, kHidden},
                                                                    {kHidden, kWide},
                                                                    {kHidden},
                                                                    {kHidden}}) {
      parameters.push_back(
          {.name = fmt::format("{}.{}", layer, parameters.size()), .shape = shape, .unit = layer});
    }
  }
  parameters.push_back({.name = "norm", .shape = {kHidden}});
  parameters.push_back({.name = "head", .shape = {kVocabulary, kHidden}});
  return parameters;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const NamedLayout& layout, const std::vector<Parameter>& parameters) {
  constexpr std::int32_t kQueries = 100000;
  fmt::print("{:<24}", layout.name);
  for (const std::int32_t world : {8, 64, 1024, 16384, 131072}) {
    const bool searches = layout.name == "vescale-ragged" && world > 64;
    if (searches) break;
    try {
      auto start = std::chrono::steady_clock::now();
      const Ownership ownership(layout_named(layout.name, parameters, mesh_of(world), {.block_rows = 32}),
                                parameters);
      const double set_up = seconds_since(start);
      start = std::chrono::steady_clock::now();
      std::int64_t sum = 0;
      for (std::int32_t i = 0; i < kQueries; ++i) {
        const auto word = philox(1, 2, static_cast<std::uint64_t>(i));
        const ParamId param{static_cast<std::int32_t>(word[0] % parameters.size())};
        const std::int64_t element = static_cast<std::int64_t>(word[1]) % ownership.numel(param);
        sum += ownership.at(param, element, 0).off;
      }
      const double query = seconds_since(start) / kQueries;
      fmt::print(" {:>7.2f} ms {:>4.0f} ns", set_up * 1e3, query * 1e9 + (sum == -1));
    } catch (const Error& error) {
      fmt::print("  {}", error.what());
      break;
    }
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace shardcheck::layout

int main() {
  using namespace shardcheck::layout;
  const auto parameters = llama_70b();
  fmt::print("{} tensors; set-up and one query at 8, 64, 1024, 16384, 131072 ranks\n", parameters.size());
  for (const NamedLayout& layout : named_layouts()) measure(layout, parameters);
}
