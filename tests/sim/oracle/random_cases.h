// Random scenarios for the oracle: sizes, silences, tokens, types and scales, all from one seed.
#pragma once

#include <random>

#include "sim/scenario/validate.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::int32_t operator()(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random_);
  }
  std::mt19937& engine() { return random_; }

 private:
  std::mt19937 random_;
};

/// The parameter holds up to three experts, with tokens of their own.
inline void hold_experts(Scenario& s, Draw& draw) {
  s.parameters[0].groups = draw(1, 3);
  s.parameters[0].shape[0] *= s.parameters[0].groups;
  for (int group = 0; group < s.parameters[0].groups; ++group) {
    if (draw(0, 1))
      s.token_counts.push_back({draw(0, s.ranks - 1), draw(0, s.microbatches - 1), draw(0, 3), 0, group});
  }
}

inline Scenario random_scenario_of(std::uint32_t seed, DataMode mode) {
  Draw draw(seed);
  const auto dtype = [&] { return static_cast<DType>(draw(0, 2)); };
  Scenario s = base(static_cast<Strategy>(draw(0, kStrategies - 1)));
  s.seed = seed;
  s.data = mode;
  if (is_unfused_only(s.strategy)) s.write_mode = WriteMode::r7;
  s.ranks = draw(1, 4);
  s.expert_parallel = s.ranks % 2 == 0 ? draw(1, 2) : 1;
  s.steps = draw(1, 2);
  s.microbatches = draw(1, 3);
  s.tokens = draw(0, 3);
  if (draw(0, 1)) s.token_counts = {{draw(0, s.ranks - 1), 0, draw(0, 4)}};
  s.main_grad = dtype();
  s.comm = dtype();
  s.loss = draw(0, 1) ? Loss::mean : Loss::per_token;
  s.scaling = static_cast<Scaling>(draw(0, 2));
  // Wide or tall enough for the lanes of provenance; the other side is small.
  const std::int64_t wide = 64, narrow = draw(1, 5);
  s.parameters[0].shape = draw(0, 1) ? std::vector{narrow, wide} : std::vector{wide, narrow};
  s.parameters[0].dtype = dtype();
  s.parameters[0].expert = draw(0, 1) == 1;
  if (draw(0, 1)) hold_experts(s, draw);
  s.uses.clear();
  for (int uses = draw(1, 2); uses > 0; --uses)
    s.uses.push_back({0, draw(0, 1) ? Producer::fused : Producer::unfused});
  if (draw(0, 1)) s.silent = {{0, draw(-1, s.steps - 1), draw(-1, s.ranks - 1), draw(0, s.microbatches - 1)}};
  validate(s, "random scenario");
  return s;
}

/// Every contribution to an element for a consumer on `rank`, as (its place in the coding, its value).
inline std::vector<std::pair<ContributionKey, double>> contributions_of(const Scenario& s,
                                                                        const ScenarioData& data,
                                                                        std::int32_t rank,
                                                                        std::int64_t element) {
  const std::int64_t columns = s.parameters[0].columns(), rows = s.parameters[0].rows_of_group();
  const std::int64_t row = element / columns % rows;
  const auto group = static_cast<std::int32_t>(element / columns / rows);
  std::vector<std::pair<ContributionKey, double>> all;
  for (std::int64_t i = 0; i < data.count_of(0); ++i) {
    const ContributionKey key = data.key_of(0, rank, i);
    const std::int64_t tokens = tokens_at(s, {0, group, key.rank, key.microbatch});
    std::int64_t sum = 0;
    if (tokens > 0 && is_used(s, 0, key.step, key.rank, key.microbatch)) {
      std::vector<float> x(static_cast<std::size_t>(tokens * columns)),
          dy(static_cast<std::size_t>(tokens * rows));
      data.operands(key, {group, tokens}, x, dy);
      for (std::int64_t t = 0; t < tokens; ++t) {
        sum += static_cast<std::int64_t>(dy[static_cast<std::size_t>(t * rows + row)]) *
               static_cast<std::int64_t>(x[static_cast<std::size_t>(t * columns + element % columns)]);
      }
    }
    all.emplace_back(key, static_cast<double>(sum));
  }
  return all;
}

}  // namespace shardcheck::tests
