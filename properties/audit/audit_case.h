// AuditCase: a scenario and how a real framework runs it. The same JSON goes to tools/probe, which runs it,
// stands in the trace, and in a failure. Next: trace.h, what came back.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Whether the engine divides the loss by the accumulation count; the probe then makes it that much larger,
/// so that the right gradient is the same.
enum class LossDivision : std::uint8_t { none, accumulation };
std::string_view name_of(LossDivision division);

/// In which microbatches gradients are synchronised.
enum class SyncOn : std::uint8_t { last, every };
std::string_view name_of(SyncOn sync);

/// How an adapter wraps the model. Switches that an adapter does not have keep their defaults.
struct AuditAdapter {
  std::string name = "ddp";          ///< ddp, fsdp2, megatron-fsdp, deepspeed, fsdp1, custom:FILE.py
  SyncOn sync = SyncOn::last;        ///< no_sync, set_requires_gradient_sync...
  SyncOn all_reduce = SyncOn::last;  ///< HSDP: when the outer axis is reduced
  bool zeroes_gradients = false;     ///< zero_grad fills with zeros, else it frees
  bool reshards = true;              ///< weights are freed after forward
  bool finds_unused = false;         ///< DDP: find_unused_parameters
  bool bucket_view = false;          ///< DDP: gradients are views of buckets
  bool small_buckets = false;        ///< DDP, DeepSpeed: most gradients have their own bucket
  bool overlap = false;              ///< DeepSpeed: overlap_comm
  LossDivision loss_division = LossDivision::none;  ///< DeepSpeed: scale_wrt_gas
  std::string strategy = "optim_grads_params";      ///< Megatron-FSDP, DeepSpeed: what is sharded
  std::int32_t replicas = 1;                        ///< ranks of the outer axis; more than 1 is HSDP
  bool operator==(const AuditAdapter&) const = default;
};

struct AuditCase {
  Scenario scenario;
  AuditAdapter adapter;
  bool probing = false;  ///< linear probing, too (wgrad 10.1)
  bool operator==(const AuditCase&) const = default;
};

/// Ends with a newline.
std::string to_json(const AuditCase& audited);

/// Throws bad_input with `where` and the field: unknown fields, values that no framework can express.
AuditCase audit_case_from_json(const std::string& text, const std::string& where);

/// What keeps a framework from running the scenario, a sentence; empty when nothing does.
std::string inexpressible(const Scenario& scenario);

/// "fsdp2, sync every, zero_grad zero": the switches that are not at their default.
std::string describe(const AuditAdapter& adapter);

/// The case in a sentence: schedule, weights with their units and uses, types, what is silent, frozen or
/// empty.
std::string describe(const AuditCase& audited);

}  // namespace shardcheck
