// Claim: everything that a layout says of one small model, written out rank by rank, so that a law looks at
// what is claimed and never at the code that computed it, and a fault of the zoo can change any number of it.
// Invariant: nothing; a claim may be wrong, and the laws find out. Next: judge.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/ownership.h"
#include "core/layout/registry.h"
#include "properties/layout_laws/laws.h"

namespace shardcheck::laws {

/// A question to a layout: what a random case draws and a failure prints.
struct Asked {
  std::string layout;  ///< name in the registry
  std::vector<layout::Parameter> parameters;
  layout::Mesh mesh;
  layout::Configuration configuration;
};

/// "mfsdp-v2-flat dp=4: P0(5,4) P1(2,3) frozen ..."
std::string to_text(const Asked& asked);

/// One more physical array of a buffer, in units of `block` elements of the data plane.
struct Plane {
  std::string name;  ///< "rowwise scale"
  std::int64_t block = 1;
  std::vector<layout::RankLayout> shards;  ///< as GroupClaim::shards
};

/// One buffer and what each of its ranks holds.
struct GroupClaim {
  layout::Buffer rule;                     ///< slots, buckets and sizes
  std::vector<layout::RankLayout> shards;  ///< [rank * buckets + bucket]
  std::vector<Plane> planes;

  std::size_t buckets() const { return rule.buckets.size(); }
  const layout::RankLayout& shard(std::int32_t rank, std::size_t bucket) const {
    return shards[static_cast<std::size_t>(rank) * buckets() + bucket];
  }
  layout::RankLayout& shard(std::int32_t rank, std::size_t bucket) {
    return shards[static_cast<std::size_t>(rank) * buckets() + bucket];
  }
};

struct Claim {
  Asked asked;
  const layout::NamedLayout* layout = nullptr;
  std::vector<GroupClaim> groups;
  std::vector<Rank> shard_of;                    ///< of every rank of the mesh
  std::optional<layout::Configuration> runtime;  ///< what the second build of L11 is told; none = the same
  std::vector<std::int32_t> amax_ranks;          ///< who takes part in the amax reduction; empty = all (L27)
  bool consumers_read_padding = false;           ///< norms and amax run over whole shards (L4, L5)

  const layout::Parameter& parameter(ParamId id) const { return asked.parameters[id.value]; }
};

/// Builds the layout and writes it out. Throws as layout_named.
Claim claim_of(const Asked& asked);

/// Ownership queries over the rules of a claim; sizes of tensors are those of the parameters.
layout::Ownership ownership_of(const Claim& claim);

/// Appends a finding about a claim.
void report(Findings& findings, const Claim& claim, LawFinding finding, ParamId param = {-1});

/// True for the ranks that form the first replica of a buffer: all of them unless some hold copies.
bool is_first_replica(const layout::Buffer& buffer, Rank rank);

/// True when every rank holds the whole buffer and shards are virtual or absent.
inline bool holds_all(const layout::Buffer& buffer) {
  return buffer.cut == layout::Cut::replicated;
}

}  // namespace shardcheck::laws
