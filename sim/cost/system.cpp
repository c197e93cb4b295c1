#include "sim/cost/system.h"

#include <algorithm>

namespace shardcheck::cost {
namespace {

constexpr System kSystems[] = {
    {.name = "megatron-ddp", .layout = "megatron-ddp-nopad"},
    {.name = "megatron-ddp-zero1", .layout = "megatron-ddp", .sharded = Sharded::optimizer},
    {.name = "megatron-fsdp-v1/no_shard", .layout = "megatron-fsdp-v1"},
    {.name = "megatron-fsdp-v1/optim", .layout = "megatron-fsdp-v1", .sharded = Sharded::optimizer},
    {.name = "megatron-fsdp-v1/optim_grads", .layout = "megatron-fsdp-v1", .sharded = Sharded::gradients},
    {.name = "megatron-fsdp-v1/optim_grads_params",
     .layout = "megatron-fsdp-v1",
     .sharded = Sharded::weights,
     .has_outer = true},
    {.name = "megatron-fsdp-v2",
     .layout = "mfsdp-v2-flat",
     .sharded = Sharded::weights,
     .packs = true,
     .zeroes = false,
     .scales = false,
     .has_outer = true},
    {.name = "fsdp2",
     .layout = "fsdp2-per-param",
     .sharded = Sharded::weights,
     .packs = true,
     .scales = false,
     .has_outer = true,
     .has_partials = true},
    {.name = "deepspeed-1",
     .layout = "zero12-flat",
     .sharded = Sharded::optimizer,
     .grain = Grain::run,
     .zeroes = false,
     .gathers_last = true},
    {.name = "deepspeed-2",
     .layout = "zero12-flat",
     .sharded = Sharded::gradients,
     .grain = Grain::run,
     .packs = true,
     .zeroes = false,
     .gathers_last = true},
    {.name = "deepspeed-3",
     .layout = "zero3-flat",
     .sharded = Sharded::weights,
     .grain = Grain::unit,
     .packs = true,
     .zeroes = false},
};

}  // namespace

std::span<const System> systems() {
  return kSystems;
}

const System* find_system(std::string_view name) {
  const auto* found = std::ranges::find(kSystems, name, &System::name);
  return found == std::end(kSystems) ? nullptr : found;
}

Strategy closed_form_of(const System& system, OuterAxis outer) {
  switch (system.sharded) {
    case Sharded::nothing: return Strategy::ddp;
    case Sharded::optimizer: return Strategy::zero1;
    case Sharded::gradients: return Strategy::zero2;
    case Sharded::weights: break;
  }
  if (outer == OuterAxis::none) return Strategy::zero3;
  return outer == OuterAxis::replicates ? Strategy::hsdp : Strategy::hfsdp;
}

}  // namespace shardcheck::cost
