#include "sim/owners/rows.h"

#include <fmt/format.h>

#include <initializer_list>
#include <vector>

namespace shardcheck {
namespace {

struct Line {
  Row row;
  std::string_view state, event, effect;
};

// What the tables of wgrad 3.1 to 3.9 have in common is written once; what a strategy calls otherwise is its
// own.

constexpr Line kFinish[] = {
    {Row::no_collective, "any", "group of one rank", "no collective; the local sum is the result"},
    {Row::divide, "reduced", "finalize", "the reduced gradient is divided: tokens, or the late scale"},
    {Row::clip, "reduced", "finalize", "the reduced gradient is clipped by its global norm"},
    {Row::finish, "reduced", "end of step", "the optimizer may read what this rank owns"}};

constexpr Line kCopies[] = {
    {Row::sum_tensor, "reduced", "finalize", "the copies of a parameter on tensor-parallel ranks are summed"},
    {Row::sum_tied, "reduced", "finalize", "the copies of a weight on two pipeline stages are summed"}};

constexpr Line kFused[] = {{Row::write_first, "no contribution", "WR", "the first write of the destination"},
                           {Row::write_again, "A(n)", "WR", "a later use adds to the contributions"},
                           {Row::hook_drop, "A(n)", "HOOK, flagged", "the placeholder is dropped"}};

constexpr Line kDdp[] = {
    {Row::zero, "D0", "zero_grad_buffer", "buffers zeroed, flags lowered"},
    {Row::hook_add, "D1", "HOOK, not flagged", "main_grad += param.grad"},
    {Row::hook_nothing, "D1", "HOOK without a gradient", "nothing"},
    {Row::launch, "D1", "LAST, overlap, counts are golden", "SCALE and LAUNCH in backward"},
    {Row::launch_in_finish, "D1", "finish_grad_sync",
     "SCALE and LAUNCH when the step ends, also where a parameter has no hook"},
    {Row::add, "D1", "GTP distributed weight, its own reduction done", "main_grad += the rows of this rank"},
    {Row::stage, "D2", "wire of another type", "through a communication buffer and back"}};

constexpr Line kInstances[] = {
    {Row::stage_weights, "D0", "parameter gather, shared storage",
     "weights staged, gathered, copied out, and zeroed again"},
    {Row::outer, "D2", "several optimizer instances", "the own slice is summed over the instances"}};

constexpr Line kFsdpPersistent[] = {
    {Row::zero, "P0", "zero_grad_buffer", "buffer zeroed, flags lowered"},
    {Row::hook_add, "P1", "HOOK, not flagged", "main_grad += param.grad"},
    {Row::hook_nothing, "P1", "HOOK without a gradient", "nothing"},
    {Row::launch, "P1", "LAST, group ready", "SCALE and LAUNCH on the reduce stream"},
    {Row::launch_in_finish, "P1", "finish_grad_sync", "SCALE and LAUNCH over all groups"},
    {Row::stage, "P2", "wire of another type", "through a communication buffer and back"}};

constexpr Line kRewrite[] = {
    {Row::rewrite_flags, "any", "unshard", "overwrite by the strategy's name, added := False"}};

constexpr Line kGathers[] = {{Row::gather_weights, "after the step", "weights in FP8",
                              "new codes are gathered, and stay whole until the next step"}};

constexpr Line kUnshards[] = {
    {Row::gather_weights, "sharded", "unshard, weights in FP8", "codes of a unit are gathered for a pass"},
    {Row::reshard, "whole", "release", "codes of other ranks are undefined after the pass"}};

constexpr Line kLease[] = {
    {Row::zero, "G0", "new step", "the shard is zeroed"},
    {Row::replace, "G0", "new step", "the first ACC replaces what the shard held"},
    {Row::open, "T0", "ACQ", "a fresh slot, undefined"},
    {Row::open_recycled, "T0", "ACQ", "a recycled slot, undefined, after its last reader"},
    {Row::hook_copy, "T1", "HOOK, not flagged", "param.grad is copied: the first touch"},
    {Row::hook_add, "T2", "HOOK, not flagged", "param.grad is added to what is there"},
    {Row::hook_nothing, "T1", "HOOK without a gradient", "nothing"},
    {Row::fill_silent, "T2", "bucket complete", "ranges that nobody touched are zero-filled"},
    {Row::launch, "T2", "bucket complete", "SCALE and reduce-scatter"},
    {Row::launch_leftover, "T2", "root post-backward", "a bucket that never became ready is reduced"},
    {Row::add, "T3", "DONE", "shard += slice, the slot returns"},
    {Row::outer, "T3", "last microbatch, hybrid mesh", "the outer groups add their shards"}};

constexpr Line kFsdpV2[] = {
    {Row::replace, "F5", "next step", "sharded.grad is None: the next reduction overwrites"},
    {Row::open, "F3", "pack", "a partial is allocated, undefined"},
    {Row::open_recycled, "F3", "pack", "a partial in memory that an earlier one had"},
    {Row::hook_copy, "F2", "post-accumulate hook", ".grad is packed"},
    {Row::hook_add, "F2", "post-accumulate hook under R6", ".grad is added to zero-filled storage"},
    {Row::hook_nothing, "F2", "parameter without a gradient", "nothing to pack"},
    {Row::fill_silent, "F3", "pack", "missing gradients count as zero"},
    {Row::launch, "F3", "counter complete", "reduce-scatter, averaged or scaled"},
    {Row::launch_leftover, "F2", "end of backward", "a group with an unused parameter is reduced"},
    {Row::add, "F3", "reduce, sharded.grad set", "main_grad += the new contribution"},
    {Row::outer, "F4", "LAST, finalize", "Partial becomes Replicate or Flat over the outer groups"}};

constexpr Line kFsdp2[] = {
    {Row::zero, "N6", "zero_grad to zeros", "sharded gradients are zeroed"},
    {Row::replace, "N6", "zero_grad to None", "sharded.grad := the next reduced gradient"},
    {Row::open, "N1", "copy-in", "the input of the reduce-scatter is allocated"},
    {Row::open_recycled, "N1", "copy-in", "in memory that an earlier input had"},
    {Row::hook_copy, "N1", "post-backward", ".grad is copied in, or begins the accumulator"},
    {Row::hook_add, "N1", "post-backward, accumulator present", "accumulator += .grad"},
    {Row::hook_nothing, "N0", "parameter without a gradient", "nothing"},
    {Row::fill_silent, "N1", "sync enabled", "missing gradients count as zero"},
    {Row::launch, "N1", "sync enabled", "reduce-scatter of the group"},
    {Row::launch_leftover, "N1", "final callback", "a group that some parameter never reached is reduced"},
    {Row::gather_weights, "N0", "pre-forward or pre-backward, sharded, weights in FP8",
     "rows are gathered, and copied out into whole codes"},
    {Row::keep_weights, "N0", "post-forward or post-backward, reshard off", "codes stay whole"},
    {Row::reshard, "N2", "post-forward or post-backward", "whole codes are freed"},
    {Row::skip_sync, "N1", "sync disabled", "the unsharded sum stays for the next microbatch"},
    {Row::add, "N3", "sharded.grad set", "sharded.grad += the reduced gradient"},
    {Row::offload, "N6", "reduced, offloaded",
     "sharded.grad lies on the host: a copy, or an addition, there"},
    {Row::outer, "N4", "HSDP, all-reduce in the last", "partial sums are all-reduced over the replicas"},
    {Row::outer_every, "N5", "HSDP, all-reduce on", "every reduced gradient is all-reduced"}};

constexpr Line kDeepspeed1[] = {
    {Row::replace, "Y3", "step", "gradients are None: the next backward begins them"},
    {Row::hook_copy, "Y0", "backward hook", "the accumulator begins with .grad"},
    {Row::hook_add, "Y1", "backward hook", "the accumulator += .grad"},
    {Row::hook_nothing, "Y0", "parameter without a gradient", "nothing"},
    {Row::fill_silent, "Y1", "boundary", "missing gradients count as zero"},
    {Row::launch, "Y1", "boundary, hook", "the bucket is reduced"},
    {Row::launch_in_finish, "Y1", "boundary, epilogue", "what is left is reduced"},
    {Row::stage, "Y1", "wire of another type", "through a communication buffer and back"}};

constexpr Line kDeepspeed2[] = {
    {Row::replace, "Q3", "step", "the partition list is None: the next gradients begin it"},
    {Row::open, "Q0", "hook", "the flat bucket of this index is free"},
    {Row::open_recycled, "Q0", "hook", "the other flat bucket, after its reduction"},
    {Row::hook_copy, "Q0", "hook", ".grad is copied into the flat bucket"},
    {Row::hook_add, "Q0", "hook under R6", ".grad is added to a zero-filled bucket"},
    {Row::hook_nothing, "Q0", "parameter without a gradient", "nothing"},
    {Row::fill_silent, "Q0", "bucket full", "missing gradients count as zero"},
    {Row::launch, "Q0", "bucket full", "averaged, each rank keeps its partition"},
    {Row::launch_leftover, "Q0", "epilogue", "the rest of the bucket is reduced"},
    {Row::add, "Q1", "end of a later backward", "partition += gradients"},
    {Row::offload, "Q1", "end of every backward, offloaded", "the partition list lies on the host"}};

constexpr Line kDeepspeed3[] = {
    {Row::replace, "R1", "step", "micro_step_id := 0: the next flush copies"},
    {Row::open, "R1", "hook", "the reduce bucket is free"},
    {Row::open_recycled, "R1", "hook", "the reduce bucket, after its reduction"},
    {Row::hook_copy, "R1", "hook", ".grad is copied into the bucket"},
    {Row::hook_add, "R1", "hook under R6", ".grad is added to a zero-filled bucket"},
    {Row::hook_nothing, "R1", "parameter without a gradient", "nothing"},
    {Row::fill_silent, "R1", "bucket flush", "missing gradients count as zero"},
    {Row::launch, "R1", "bucket flush", "divided, reduce-scattered by parameter"},
    {Row::launch_leftover, "R1", "epilogue", "the rest of the bucket is flushed"},
    {Row::add, "R1", "bucket flush, micro_step_id > 0", "partition += reduced"},
    {Row::offload, "R1", "bucket flush, offloaded", "the partition buffer lies on the host"}};

void append(std::vector<OwnerRow>& rows, Strategy strategy,
            std::initializer_list<std::span<const Line>> tables) {
  for (const auto& table : tables) {
    for (const Line& line : table) rows.push_back({strategy, line.row, line.state, line.event, line.effect});
  }
}

}  // namespace

std::span<const OwnerRow> owner_rows() {
  static const std::vector<OwnerRow> all = [] {
    std::vector<OwnerRow> rows;
    append(rows, Strategy::megatron_ddp, {kDdp, kFused, kCopies, kFinish});
    append(rows, Strategy::megatron_ddp_zero1, {kDdp, kInstances, kGathers, kFused, kCopies, kFinish});
    append(rows, Strategy::fsdp_no_shard, {kFsdpPersistent, kFused, kCopies, kFinish});
    append(rows, Strategy::fsdp_optim, {kFsdpPersistent, kGathers, kRewrite, kFused, kCopies, kFinish});
    append(rows, Strategy::fsdp_optim_grads, {kLease, kGathers, kRewrite, kFused, kCopies, kFinish});
    append(rows, Strategy::fsdp_optim_grads_params, {kLease, kUnshards, kRewrite, kFused, kCopies, kFinish});
    append(rows, Strategy::fsdp_v2, {kFsdpV2, kFinish});
    append(rows, Strategy::fsdp2, {kFsdp2, kCopies, kFinish});
    append(rows, Strategy::deepspeed_1, {kDeepspeed1, kFinish});
    append(rows, Strategy::deepspeed_2, {kDeepspeed2, kFinish});
    append(rows, Strategy::deepspeed_3, {kDeepspeed3, kFinish});
    return rows;
  }();
  return all;
}

std::string_view describe(Strategy strategy) {
  constexpr std::string_view sentences[] = {
      "persistent buffer, all-reduced in the last microbatch (3.1)",
      "persistent buffer, reduce-scattered in place in the last microbatch; optimizer instances (3.2)",
      "persistent buffer, all-reduced in the last microbatch (3.4)",
      "persistent buffer, reduce-scattered in place in the last microbatch (3.4)",
      "leases, reduced in every microbatch onto a shard; HSDP, HFSDP (3.3, 3.4)",
      "leases, reduced in every microbatch onto a shard; HSDP, HFSDP (3.4)",
      "autograd's gradients packed by group, reduced in every microbatch; HSDP, HFSDP (3.5)",
      "autograd's gradients cut row by row, reduced where sync is on; HSDP (3.6)",
      "local accumulator, reduced into partitions at the boundary (3.7)",
      "flat bucket, reduced into a partition list in every micro-step (3.8)",
      "every parameter partitioned, reduced in every micro-step (3.9)"};
  return sentences[static_cast<int>(strategy)];
}

std::string describe(const OwnerRow& row) {
  return fmt::format("{} {}: {}: {}", name_of(row.strategy), row.state, row.event, row.effect);
}

}  // namespace shardcheck
