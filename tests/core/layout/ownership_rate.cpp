// Measures the set-up of every layout and one ownership query from 8 to 131,072 ranks, on the tensors of a
// known model: ownership_rate [MODEL], llama3-70b unless one is named. One line a layout.
#include <fmt/format.h>

#include <chrono>

#include "core/error.h"
#include "core/layout/models/named_models.h"
#include "core/layout/ownership.h"
#include "core/layout/registry.h"
#include "core/numerics/philox.h"

namespace shardcheck::layout {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const NamedLayout& layout, const std::vector<Parameter>& parameters) {
  constexpr std::int32_t kQueries = 100000;
  fmt::print("{:<24}", layout.name);
  for (const std::int32_t world : {8, 64, 1024, 16384, 131072}) {
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

int main(int count, char** arguments) {
  using namespace shardcheck::layout;
  const NamedModel* model = find_model(count > 1 ? arguments[1] : "llama3-70b");
  if (model == nullptr) {
    fmt::print("{} is no known model\n", arguments[1]);
    return 2;
  }
  const auto parameters = model->make();
  fmt::print("{} tensors; set-up and one query at 8, 64, 1024, 16384, 131072 ranks\n", parameters.size());
  for (const NamedLayout& layout : named_layouts()) measure(layout, parameters);
}
