#include "properties/generate/family.h"

#include <algorithm>

#include "properties/generate/room.h"

namespace shardcheck {
namespace {

/// All forward orders of up to `most` uses of `parameters` parameters.
std::vector<std::vector<ScenarioUse>> orders_of_uses(std::int32_t parameters, std::int32_t most) {
  std::vector<std::vector<ScenarioUse>> all = {{}};
  std::size_t first = 0;
  for (std::int32_t length = 1; length <= most; ++length) {
    const std::size_t last = all.size();
    for (std::size_t shorter = first; shorter < last; ++shorter) {
      for (std::int32_t parameter = 0; parameter < parameters; ++parameter) {
        for (const Producer producer : {Producer::fused, Producer::unfused}) {
          std::vector<ScenarioUse> longer = all[shorter];
          longer.push_back({parameter, producer, -1});
          all.push_back(std::move(longer));
        }
      }
    }
    first = last;
  }
  return all;
}

/// Shapes that do not divide by two or three, in two units.
Scenario smallest_model(std::int32_t parameters) {
  Scenario s;
  s.parameters.push_back({.name = "w0", .shape = {1, 5}});
  if (parameters > 1) s.parameters.push_back({.name = "w1", .shape = {1, 1}, .unit = 1});
  return s;
}

void silence(Scenario& s, std::uint32_t places) {
  s.silent.clear();
  for (std::int32_t place = 0; place < s.ranks * s.microbatches; ++place) {
    if ((places >> place & 1u) != 0)
      s.silent.push_back({0, s.steps - 1, place / s.microbatches, place % s.microbatches});
  }
}

struct Numerics {
  Loss loss;
  Scaling scaling;
};
constexpr Numerics kNumerics[] = {{Loss::mean, Scaling::before},
                                  {Loss::mean, Scaling::in_collective},
                                  {Loss::mean, Scaling::finalize},
                                  {Loss::per_token, Scaling::before}};

}  // namespace

std::vector<Scenario> family_cells(std::int32_t size) {
  std::vector<Scenario> cells;
  for (std::int32_t parameters = 1; parameters <= 2; ++parameters) {
    for (const auto& uses : orders_of_uses(parameters, size)) {
      Scenario s = smallest_model(parameters);
      s.uses = uses;
      for (s.ranks = 1; s.ranks <= size; ++s.ranks) {
        for (s.microbatches = 1; s.microbatches <= size; ++s.microbatches) {
          for (const WriteMode mode : {WriteMode::r5, WriteMode::r6, WriteMode::r7, WriteMode::r8}) {
            for (int strategy = 0; strategy < kStrategies; ++strategy) {
              s.write_mode = mode;
              s.strategy = static_cast<Strategy>(strategy);
              if (returns_gradient(Producer::fused, mode) || !is_unfused_only(s.strategy)) cells.push_back(s);
            }
          }
        }
      }
    }
  }
  return cells;
}

void each_of_cell(const Scenario& cell, const std::function<bool(const Scenario&)>& visit) {
  const bool is_used = std::ranges::count(cell.uses, 0, &ScenarioUse::parameter) > 0;
  const std::uint32_t sets = is_used ? 1u << (cell.ranks * cell.microbatches) : 1u;
  for (const Numerics& numerics : kNumerics) {
    Scenario s = cell;
    s.loss = numerics.loss;
    s.scaling = numerics.scaling;
    const bool fits = has_exact_scale(s) && make_room(s, 0);
    s.data = fits ? DataMode::provenance : DataMode::integers;
    for (std::uint32_t places = 0; places < sets; ++places) {
      silence(s, places);
      if (!visit(s)) return;
    }
  }
}

}  // namespace shardcheck
