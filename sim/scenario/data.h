// The numbers of a scenario: the activations x and output gradients dy of every contribution, as a pure
// function of the scenario and the contribution's key, so that planner-driven execution and oracle ask the
// same question independently. Provenance data carry powers of four that can be decoded
// (core/contract/provenance.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/types.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/validate.h"

namespace shardcheck {

/// One use of a parameter in one microbatch on one rank. `use` counts the uses of this parameter, in forward
/// order.
struct ContributionKey {
  std::int32_t parameter = 0, step = 0, rank = 0, microbatch = 0, use = 0;
  bool operator==(const ContributionKey&) const = default;
};

/// What one product of a contribution multiplies: a group of the parameter, and its tokens.
struct Product {
  std::int32_t group = 0;
  std::int64_t tokens = 0;
};

/// True when the contribution puts something into that group of its parameter: it is used there, with tokens.
bool contributes(const Scenario& scenario, const ContributionKey& key, std::int32_t group);

/// The same for any group.
bool contributes(const Scenario& scenario, const ContributionKey& key);

/// The group whose rows an element lies in.
std::int32_t group_of(const ScenarioParameter& parameter, std::int64_t element);

/// Whose reals each rank has.
enum class Reals : std::uint8_t { of_its_own, of_one_rank };

class ScenarioData {
 public:
  explicit ScenarioData(const Scenario& scenario);

  std::int32_t uses_of(std::int32_t parameter) const { return of(parameter).uses; }
  const std::optional<ProvenanceCoding>& coding(std::int32_t parameter) const { return of(parameter).coding; }

  /// Fills x (tokens x columns) and dy (tokens x rows of a group), row-major; exactly representable in the
  /// parameter's type. Every group has its own.
  void operands(const ContributionKey& key, Product product, std::span<float> x, std::span<float> dy) const;

  /// For linear probing (wgrad 10.1): from now on `live` is 1 in every element, by its first token, and all
  /// other contributions are 0.
  void keep_only(std::optional<ContributionKey> live) { probe_ = Probe{live}; }

  /// For the order of additions (wgrad 8.8), which exact data do not show: from now on contributions have
  /// full significands of many magnitudes, so that their sums round. With those of one rank, every rank has
  /// the same, whatever the number of ranks is.
  void use_reals(Reals whose) { reals_ = whose; }

  /// Fills the initial value of an FP8 weight, row-major, to be rounded to the parameter's type: off every
  /// FP8 grid, another magnitude for every 32 x 32 elements, outliers and zeros, so that a wrong scale, block
  /// or transposition shows. Experts of another expert-parallel coordinate have others (F48).
  void initial(std::int32_t parameter, Rank rank, std::span<float> values) const;

  /// Position of the contribution among all those of its parameter, and of a copy of it on another stage, in
  /// its reduction domain, over all steps.
  std::int64_t index_of(const ContributionKey& key) const;
  /// The contribution at that position, for a reader on `rank`.
  ContributionKey key_of(std::int32_t parameter, std::int32_t rank, std::int64_t index) const;
  /// Contributions of the parameter over all steps.
  std::int64_t count_of(std::int32_t parameter) const;

 private:
  struct OfParameter {
    std::int32_t uses = 0;
    std::int32_t all_uses = 0;   // with those of its copy on another stage
    std::int32_t first_use = 0;  // of its own among them
    std::int32_t copy = -1;
    std::int32_t domain = 1;  // ranks in the reduction domain
    std::int32_t stride = 1;  // between two ranks of it
    std::optional<ProvenanceCoding> coding;
  };
  const OfParameter& of(std::int32_t parameter) const {
    return parameters_[static_cast<std::size_t>(parameter)];
  }
  void provenance(const ContributionKey& key, std::int32_t group, std::span<float> x,
                  std::span<float> dy) const;
  void integers(const ContributionKey& key, std::int32_t group, std::span<float> x,
                std::span<float> dy) const;
  void reals(const ContributionKey& key, std::int32_t group, std::span<float> x, std::span<float> dy) const;

  struct Probe {
    std::optional<ContributionKey> live;
  };
  const Scenario& scenario_;
  std::vector<OfParameter> parameters_;
  std::optional<Probe> probe_;
  std::optional<Reals> reals_;
};

/// Where and with which sign the provenance digits of contributions stand in an element. The first element is
/// positive, so that small examples read as in the books.
struct LaneDigit {
  std::int64_t lane = 0;
  std::int32_t shift = 0;  ///< digit d stands at place (d + shift) mod digits
  float sign = 1;
};
LaneDigit lane_digit(const ScenarioParameter& parameter, const ProvenanceCoding& coding,
                     std::int64_t element);

}  // namespace shardcheck
