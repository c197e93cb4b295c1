#include "tools/shardcheck/plan/storage_words.h"

namespace shardcheck {

using cost::Sharded;
using cost::Work;

std::string StorageWords::weights() const {
  return system_.sharded == Sharded::weights ? "gathered weights" : "weights";
}

std::string StorageWords::kept() const {
  if (system_.sharded == Sharded::weights) return "weight shard";
  return system_.sharded == Sharded::nothing ? "weights" : "own weights";
}

std::string StorageWords::destination() const {
  if (system_.packs) return ".grad";
  return has_leases() ? "lease" : "main_grad";
}

std::string StorageWords::wire() const {
  if (has_leases()) return system_.packs ? "reduction input" : "lease";
  return is_staged_ ? "staging" : "main_grad";
}

std::string StorageWords::running() const {
  return has_leases() ? "gradient shard" : "main_grad";
}

std::string StorageWords::reads(Work work) const {
  switch (work) {
    case Work::zero: return "";
    case Work::gather: return kept();
    case Work::forward: return weights() + ", x";
    case Work::dgrad: return weights() + ", dy";
    case Work::wgrad: return has_leases() || system_.packs ? "x, dy" : "x, dy, " + destination();
    case Work::pack: return ".grad";
    case Work::stage: return "main_grad";
    case Work::scale:
    case Work::all_reduce:
    case Work::reduce_scatter: return wire();
    case Work::unstage: return "staging";
    case Work::accumulate: return "own " + wire() + ", gradient shard";
    case Work::outer_all_reduce:
    case Work::outer_reduce_scatter: return "gradient shard";
    case Work::optimizer:
      return (system_.sharded == Sharded::optimizer ? "own " : "") + running() + ", optimizer";
    case Work::outer_gather: return "own weights";
  }
  return "";
}

std::string StorageWords::writes(Work work) const {
  switch (work) {
    case Work::zero: return running();
    case Work::gather: return weights();
    case Work::forward: return "y";
    case Work::dgrad: return "dx";
    case Work::wgrad: return destination();
    case Work::pack: return "reduction input";
    case Work::stage: return "staging";
    case Work::scale:
    case Work::all_reduce: return wire();
    case Work::reduce_scatter: return "own " + wire();
    case Work::unstage: return "main_grad";
    case Work::accumulate:
    case Work::outer_all_reduce: return "gradient shard";
    case Work::outer_reduce_scatter: return "own gradient shard";
    case Work::optimizer: return "optimizer, " + kept();
    case Work::outer_gather: return "weight shard";
  }
  return "";
}

}  // namespace shardcheck
