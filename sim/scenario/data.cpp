#include "sim/scenario/data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/integers.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

/// Small integers -2..2, eight bits of a Philox word each.
void fill_integers(std::span<float> values, std::uint64_t seed, std::uint64_t stream) {
  for (std::size_t i = 0; i < values.size(); i += 16) {
    const auto words = philox(seed, stream, i / 16);
    for (std::size_t j = 0; j < 16 && i + j < values.size(); ++j) {
      const std::uint32_t byte = words[j / 4] >> (8 * (j % 4)) & 0xFFu;
      values[i + j] = static_cast<float>(static_cast<int>(byte * 5 >> 8) - 2);
    }
  }
}

/// Seven random bits below the leading one, magnitudes of 2^-4 to 2^4: exact in every type, and a product of
/// two has up to 16 bits.
void fill_reals(std::span<float> values, std::uint64_t seed, std::uint64_t stream, std::uint64_t at) {
  for (std::size_t i = 0; i < values.size(); i += 8) {
    const auto words = philox(seed, stream, at + i / 8);
    for (std::size_t j = 0; j < 8 && i + j < values.size(); ++j) {
      const std::uint32_t bits = words[j / 2] >> (16 * (j % 2)) & 0xFFFFu;
      const std::uint32_t sign = bits >> 10 & 1u, exponent = 127 - 4 + (bits >> 7 & 7u);
      values[i + j] = std::bit_cast<float>(sign << 31 | exponent << 23 | (bits & 127u) << 16);
    }
  }
}

/// The sign that comes from a round on the lane axis, or from the position on the other one.
float sign_of(std::int64_t place) {
  return std::popcount(static_cast<std::uint64_t>(place)) % 2 == 1 ? -1.0f : 1.0f;
}

/// The part of a LaneDigit that comes from the position on the lane axis of a group.
LaneDigit along_lanes(const ProvenanceCoding& coding, std::int64_t position) {
  const std::int64_t round = position / coding.lanes;
  return {position % coding.lanes, static_cast<std::int32_t>(round % coding.digits), sign_of(round)};
}

// Streams of random words that no contribution has.
constexpr std::uint64_t kInitial = std::uint64_t{1} << 63, kTile = std::uint64_t{1} << 62;

}  // namespace

bool contributes(const Scenario& s, const ContributionKey& key, std::int32_t group) {
  return is_used(s, key.parameter, key.step, key.rank, key.microbatch) &&
         tokens_at(s, {key.parameter, group, key.rank, key.microbatch}) > 0;
}

bool contributes(const Scenario& s, const ContributionKey& key) {
  for (std::int32_t group = 0; group < s.parameters[static_cast<std::size_t>(key.parameter)].groups;
       ++group) {
    if (contributes(s, key, group)) return true;
  }
  return false;
}

std::int32_t group_of(const ScenarioParameter& parameter, std::int64_t element) {
  if (parameter.groups == 1 || parameter.numel() == 0) return 0;
  return static_cast<std::int32_t>(element / parameter.columns() / parameter.rows_of_group());
}

LaneDigit lane_digit(const ScenarioParameter& p, const ProvenanceCoding& coding, std::int64_t element) {
  const std::int64_t row = element / p.columns(), column = element % p.columns();
  LaneDigit at = along_lanes(coding, coding.along_columns ? column : row % p.rows_of_group());
  at.shift = (at.shift + group_of(p, element)) % coding.digits;
  at.sign *= sign_of(coding.along_columns ? row : column);
  return at;
}

ScenarioData::ScenarioData(const Scenario& scenario) : scenario_(scenario) {
  parameters_.resize(scenario.parameters.size());
  for (const ScenarioUse& use : scenario.uses) ++parameters_[static_cast<std::size_t>(use.parameter)].uses;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const bool expert = scenario.parameters[p].expert;
    parameters_[p].domain =
        domain_size(scenario, expert) * tensor_copies(scenario, static_cast<std::int32_t>(p));
    parameters_[p].stride = expert ? scenario.expert_parallel : 1;
    parameters_[p].copy = tied_copy(scenario, static_cast<std::int32_t>(p));
    parameters_[p].all_uses = parameters_[p].uses;
    if (parameters_[p].copy >= 0) {
      const std::int32_t others = parameters_[static_cast<std::size_t>(parameters_[p].copy)].uses;
      parameters_[p].all_uses += others;
      if (scenario.parameters[p].tied_to >= 0) parameters_[p].first_use = others;
    }
    if (scenario.data == DataMode::provenance) {
      parameters_[p].coding = provenance_coding(scenario, static_cast<std::int32_t>(p));
    }
  }
}

std::int64_t ScenarioData::count_of(std::int32_t parameter) const {
  const OfParameter& p = of(parameter);
  return static_cast<std::int64_t>(scenario_.steps) * p.domain * scenario_.microbatches * p.all_uses;
}

std::int64_t ScenarioData::index_of(const ContributionKey& key) const {
  const OfParameter& p = of(key.parameter);
  const std::int32_t copies = tensor_copies(scenario_, key.parameter);
  const std::int64_t cell = copies > 1 ? key.rank % stage_size(scenario_) / scenario_.ranks : 0;
  const std::int64_t peer = cell * (p.domain / copies) + key.rank % scenario_.ranks / p.stride;
  return ((static_cast<std::int64_t>(key.step) * p.domain + peer) * scenario_.microbatches + key.microbatch) *
             p.all_uses +
         p.first_use + key.use;
}

ContributionKey ScenarioData::key_of(std::int32_t parameter, std::int32_t rank, std::int64_t index) const {
  const OfParameter& p = of(parameter);
  ContributionKey key{.parameter = parameter};
  key.use = static_cast<std::int32_t>(index % p.all_uses) - p.first_use;
  if (key.use < 0 || key.use >= p.uses) {
    key.parameter = p.copy;
    key.use += p.first_use - of(p.copy).first_use;
  }
  index /= p.all_uses;
  key.microbatch = static_cast<std::int32_t>(index % scenario_.microbatches);
  index /= scenario_.microbatches;
  const std::int32_t copies = tensor_copies(scenario_, key.parameter), of_cell = p.domain / copies;
  const auto peer = static_cast<std::int32_t>(index % p.domain);
  const std::int32_t cell = copies > 1 ? peer / of_cell : rank % stage_size(scenario_) / scenario_.ranks;
  key.rank = peer % of_cell * p.stride + rank % scenario_.ranks % p.stride + cell * scenario_.ranks;
  key.rank += scenario_.parameters[static_cast<std::size_t>(key.parameter)].stage * stage_size(scenario_);
  key.step = static_cast<std::int32_t>(index / p.domain);
  return key;
}

void ScenarioData::operands(const ContributionKey& key, Product product, std::span<float> x,
                            std::span<float> dy) const {
  if (product.tokens == 0) return;
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(key.parameter)];
  if (probe_) {
    const float one = probe_->live == key ? 1.0f : 0.0f;
    std::fill(x.begin(), x.end(), 0.0f);
    std::fill(dy.begin(), dy.end(), 0.0f);
    std::fill_n(x.begin(), p.columns(), one);
    std::fill_n(dy.begin(), p.rows_of_group(), one);
    return;
  }
  if (reals_)
    reals(key, product.group, x, dy);
  else if (scenario_.data == DataMode::provenance)
    return provenance(key, product.group, x, dy);
  else
    integers(key, product.group, x, dy);
  // A bias sees dy alone: its x is a column of ones.
  if (p.shape.size() < 2) std::fill(x.begin(), x.end(), 1.0f);
}

void ScenarioData::initial(std::int32_t parameter, Rank rank, std::span<float> values) const {
  const std::int32_t stride = of(parameter).stride;
  const auto coordinate = static_cast<std::uint64_t>(rank.value % stride);
  const auto columns =
      static_cast<std::uint64_t>(scenario_.parameters[static_cast<std::size_t>(parameter)].columns());
  const std::uint64_t stream = kInitial | coordinate << 32 | static_cast<std::uint64_t>(parameter);
  std::array<std::uint32_t, 4> words{};
  std::uint64_t last_tile = ~std::uint64_t{0};
  int magnitude = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 4 == 0) words = philox(scenario_.seed, stream, i / 4);
    const std::uint32_t word = words[i % 4];
    const std::uint64_t tile = i / columns / 32 << 32 | i % columns / 32;
    if (tile != last_tile)
      magnitude = static_cast<int>(philox(scenario_.seed, stream | kTile, tile)[0] % 10) - 6;
    last_tile = tile;
    const bool outlier = word % 251 == 0, zero = word % 61 == 0;
    const float significand = 1 + static_cast<float>(word >> 9) * 0x1p-23f;
    const float value = std::ldexp(significand, magnitude + (outlier ? 6 : 0));
    values[i] = zero ? 0 : (word >> 8 & 1u) != 0 ? -value : value;
  }
}

/// The first token carries everything: one outer product with one power of four a lane. A later group has it
/// at a later place, so that an expert's gradient in the rows of another shows.
void ScenarioData::provenance(const ContributionKey& key, std::int32_t group, std::span<float> x,
                              std::span<float> dy) const {
  std::fill(x.begin(), x.end(), 0.0f);
  std::fill(dy.begin(), dy.end(), 0.0f);
  const auto& coding = of(key.parameter).coding;
  if (!coding) return;  // a parameter without elements
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(key.parameter)];
  const std::int64_t rows = p.rows_of_group();
  const bool along_columns = coding->along_columns;
  const std::span<float> lanes = along_columns ? x : dy, cross = along_columns ? dy : x;
  const std::int64_t length = along_columns ? p.columns() : rows, width = along_columns ? rows : p.columns();
  const std::int64_t index = index_of(key);
  std::int64_t round = 0;
  std::int32_t place = static_cast<std::int32_t>((index / coding->lanes + group) % coding->digits);
  for (std::int64_t i = index % coding->lanes; i < length; i += coding->lanes) {
    lanes[static_cast<std::size_t>(i)] =
        sign_of(round++) * static_cast<float>(std::int32_t{1} << (2 * place));
    place = place + 1 == coding->digits ? 0 : place + 1;
  }
  const std::int64_t first = along_columns ? group * rows : 0;
  for (std::int64_t i = 0; i < width; ++i) cross[static_cast<std::size_t>(i)] = sign_of(first + i);
}

void ScenarioData::integers(const ContributionKey& key, std::int32_t group, std::span<float> x,
                            std::span<float> dy) const {
  const auto stream =
      2 * (static_cast<std::uint64_t>(group) << 51 | static_cast<std::uint64_t>(key.parameter) << 40 |
           static_cast<std::uint64_t>(index_of(key)) << 8 | static_cast<std::uint64_t>(key.rank & 0xFF));
  fill_integers(x, scenario_.seed, stream);
  fill_integers(dy, scenario_.seed, stream + 1);
}

/// The first token carries everything, so that one product, exact in fp32, is all that a write adds.
void ScenarioData::reals(const ContributionKey& key, std::int32_t group, std::span<float> x,
                         std::span<float> dy) const {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(key.parameter)];
  const std::int32_t rank = reals_ == Reals::of_one_rank ? key.rank / scenario_.ranks : key.rank;
  const std::uint64_t stream =
      2 * (static_cast<std::uint64_t>(key.parameter) << 36 | static_cast<std::uint64_t>(key.step) << 30 |
           static_cast<std::uint64_t>(key.microbatch) << 24 | static_cast<std::uint64_t>(rank));
  const std::uint64_t at = static_cast<std::uint64_t>(key.use) << 48 | static_cast<std::uint64_t>(group)
                                                                           << 34;
  std::fill(x.begin(), x.end(), 0.0f);
  std::fill(dy.begin(), dy.end(), 0.0f);
  fill_reals(x.first(static_cast<std::size_t>(p.columns())), scenario_.seed, stream, at);
  fill_reals(dy.first(static_cast<std::size_t>(p.rows_of_group())), scenario_.seed, stream + 1, at);
}

}  // namespace shardcheck
