// Faults on the way from masters to whole codes: what is measured, reduced, cast, sent, and when (fp8 4.2 to
// 4.6, E2 to E7, E13).
#include "sim/faults/kinds.h"
#include "sim/faults/weight_ops.h"

namespace shardcheck {
namespace {

using namespace weight_ops;

std::vector<Rank> ranks_of(const PlanEdit& edit, const Op& op) {
  const auto ranks = edit.plan().ranks_of(op);
  return {ranks.begin(), ranks.end()};
}

/// After one optimizer step nothing of the first weight is measured and cast again.
bool not_requantised(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool is_part = requantises_first<TakeAmax>(op) || requantises_first<ScaleFromAmax>(op) ||
                         requantises_first<QuantizeBlocks>(op);
    if (is_part && op.why.step == 0) edit.erase(i);
  }
  return edit.commit();
}

/// Every gather of a step's new codes comes before the first weight's are made.
bool gathered_too_early(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::int32_t cast = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (requantises_first<QuantizeBlocks>(op) && (cast < 0 || edit.op(cast).why.step < op.why.step)) cast = i;
    if (cast < 0 || !is_gather(edit, op) || op.why.microbatch >= 0) continue;
    edit.insert_before(cast, op);
    edit.erase(i);
  }
  return edit.commit();
}

bool amax_not_reduced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_maximum(edit, edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// Amaxes of experts are reduced over all ranks, like those of dense weights.
bool amax_over_all_ranks(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (is_maximum(edit, op) && std::get<Communicate>(op.action).group < op.ranks)
      std::get<Communicate>(edit.change(i).action).group = op.ranks;
  }
  return edit.commit();
}

/// A rank that owns nothing of a weight leaves its amaxes as they are, instead of zero.
bool empty_piece_not_zero(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::int32_t zeroed = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const bool zeroes = std::holds_alternative<Fill>(op.action) && op.why.purpose == Purpose::weights &&
                        edit.role(op, 0) == BufferRole::amaxes;
    if (zeroes) zeroed = i;
    if (!std::holds_alternative<TakeAmax>(op.action) || op.why.purpose != Purpose::weights || zeroed < 0 ||
        op.ranks == edit.plan().ranks)
      continue;
    std::vector<Rank> others = ranks_of(edit, edit.op(zeroed));
    for (const Rank rank : ranks_of(edit, op)) std::erase(others, rank);
    Op undefine = edit.op(zeroed);
    undefine.action = Undefine{};
    edit.insert_after(zeroed, edit.with_ranks(undefine, others,
                                              [&](std::int8_t, std::int32_t) { return edit.view(op, 1); }));
  }
  return edit.commit();
}

/// The ranks that measured a weight in the step of the maximum at `at`, and where its amaxes lie.
struct MeasuredWeight {
  View amaxes;
  std::vector<Rank> owners;
};
std::vector<MeasuredWeight> measured_before(const PlanEdit& edit, std::int32_t at) {
  std::vector<MeasuredWeight> weights;
  for (std::int32_t i = at - 1; i >= 0; --i) {
    const Op& op = edit.plan().ops[static_cast<std::size_t>(i)];
    if (std::holds_alternative<Fill>(op.action)) break;
    if (!std::holds_alternative<TakeAmax>(op.action)) continue;
    const View amaxes = edit.view(op, 1);
    auto known = std::ranges::find(weights, amaxes, &MeasuredWeight::amaxes);
    if (known == weights.end()) known = weights.insert(known, {amaxes, {}});
    for (const Rank rank : ranks_of(edit, op)) known->owners.push_back(rank);
  }
  return weights;
}

/// The maximum runs in a loop over weights that skips those of which the rank owns nothing.
bool empty_piece_skips(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_maximum(edit, op)) continue;
    for (MeasuredWeight& weight : measured_before(edit, i)) {
      std::ranges::sort(weight.owners);
      Op one = op;
      std::get<Communicate>(one.action).group = static_cast<std::int32_t>(weight.owners.size());
      edit.insert_after(
          i, edit.with_ranks(one, weight.owners, [&](std::int8_t, std::int32_t) { return weight.amaxes; }));
    }
    edit.erase(i);
  }
  return edit.commit();
}

/// Rank 0 fills its batch after every weight, the others after all of them.
bool batches_differ(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_maximum(edit, op)) continue;
    std::vector<Rank> others = ranks_of(edit, op);
    std::erase(others, Rank{0});
    Op rest = op;
    std::get<Communicate>(rest.action).group = static_cast<std::int32_t>(others.size());
    edit.insert_after(
        i, edit.with_ranks(rest, others, [&](std::int8_t j, std::int32_t) { return edit.view(op, j); }));
    for (const MeasuredWeight& weight : measured_before(edit, i)) {
      Op one = op;
      std::get<Communicate>(one.action).group = 1;
      edit.insert_after(
          i, edit.with_ranks(one, {Rank{0}}, [&](std::int8_t, std::int32_t) { return weight.amaxes; }));
    }
    edit.erase(i);
  }
  return edit.commit();
}

/// The factors are read before the scales of this step replace them.
bool cast_before_scales(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!requantises_first<ScaleFromAmax>(edit.op(i))) continue;
    std::int32_t last = i;
    for (std::int32_t j = i; j < edit.size() && edit.op(j).why.step == edit.op(i).why.step; ++j) {
      if (requantises_first<QuantizeBlocks>(edit.op(j))) last = j;
    }
    edit.insert_after(last, edit.op(i));
    edit.erase(i);
  }
  return edit.commit();
}

/// Amaxes are of the fp32 masters, codes of their rounded values.
bool amax_of_masters(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!requantises_first<TakeAmax>(op)) continue;
    for (std::int32_t j = i - 1; j >= 0; --j) {
      const Op& round = edit.op(j);
      const bool is_its = requantises_first<Copy>(round) && edit.role(round, 0) == BufferRole::master &&
                          edit.plan().ranks_of(round)[0] == edit.plan().ranks_of(op)[0];
      if (!is_its) continue;
      edit.change(i) = edit.with_views(op, 2, [&](std::int8_t operand, std::int32_t r) {
        return edit.view(operand == 0 ? round : op, operand, r);
      });
      break;
    }
  }
  return edit.commit();
}

/// Each rank sends a byte of its neighbour's piece: what the cast's halo wrote there.
bool halo_sent(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_gather(edit, op) || op.why.step <= 0) continue;
    edit.change(i) = edit.with_views(op, 2, [&](std::int8_t operand, std::int32_t r) {
      View view = edit.view(op, operand, r);
      if (operand == 0 && view.offset > edit.view(op, 1, r).offset) --view.offset;
      return view;
    });
  }
  return edit.commit();
}

/// The gather does not wait for the stream that quantises.
bool gather_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 1; i < edit.size(); ++i) {
    const Op& before = edit.op(i - 1);
    const bool waits = std::holds_alternative<Wait>(before.action) && before.stream == Stream::reduce;
    if (is_gather(edit, edit.op(i)) && waits) edit.erase(i - 1);
  }
  return edit.commit();
}

/// What reads gathered codes, a product or a copy, does not wait for the gather.
bool use_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i + 1 < edit.size(); ++i) {
    const auto* arrives = std::get_if<Record>(&edit.op(i + 1).action);
    if (!is_gather(edit, edit.op(i)) || arrives == nullptr) continue;
    for (std::int32_t j = i + 2; j < edit.size(); ++j) {
      const auto* wait = std::get_if<Wait>(&edit.op(j).action);
      if (wait != nullptr && wait->event == arrives->event && edit.op(j).stream == Stream::compute)
        edit.erase(j);
    }
  }
  return edit.commit();
}

/// The same of the copy that FSDP2 makes of gathered rows.
bool copied_out_early(Planned& planned, const Scenario& s) {
  return s.strategy == Strategy::fsdp2 && use_not_fenced(planned, s);
}

/// The first weight is cast again at the begin of every microbatch but the first.
bool requantised_in_microbatches(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<std::int32_t> casts;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (requantises_first<QuantizeBlocks>(op)) {
      if (!casts.empty() && edit.op(casts[0]).why.step != op.why.step) casts.clear();
      casts.push_back(i);
    }
    if (!std::holds_alternative<BeginMicrobatch>(op.action) || op.why.microbatch == 0) continue;
    for (const std::int32_t cast : casts) {
      if (edit.op(cast).why.step >= op.why.step) continue;
      Op again = edit.op(cast);
      again.why.step = op.why.step;
      again.why.microbatch = op.why.microbatch;
      edit.insert_after(i, again);
    }
  }
  return edit.commit();
}

/// One kernel does not look at the noop flag: the codes of a skipped step are cast all the same.
bool noop_ignored(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  std::vector<Op> casts;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (requantises_first<QuantizeBlocks>(op) && op.why.step == 0) casts.push_back(op);
    if (!std::holds_alternative<EndStep>(op.action) || !is_skipped(s, op.why.step)) continue;
    for (Op again : casts) {
      again.why.step = op.why.step;
      edit.insert_before(i, again);
    }
  }
  return edit.commit();
}

/// Masters are the dequantised codes, although the initial value is there.
bool masters_from_codes(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!first || !is_of_first<Copy>(op) || edit.role(op, 0) != BufferRole::initial) continue;
    const std::int64_t start = edit.view(op, 0).offset;
    Op decode = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      if (operand == 1) return first->row.scales;
      if (operand == 2) return edit.view(op, 1, r);
      return View{first->row.codes.buffer, first->row.codes.offset + edit.view(op, 0, r).offset,
                  edit.view(op, 0, r).numel};
    });
    decode.action = DequantizeBlocks{first->of, start};
    edit.change(i) = decode;
  }
  return edit.commit();
}

constexpr std::string_view kOneScale = "te-current";

void pieces(Scenario& s) {
  prepare::fp8_pieces(s, kOneScale);
}
void pieces_in_line(Scenario& s) {
  pieces(s);
  s.overlap = false;
}
void pieces_overlapped(Scenario& s) {
  pieces(s);
  s.overlap = true;
}
void rows_overlapped(Scenario& s) {
  prepare::fp8_rows(s, kOneScale);
  s.overlap = true;
}
void whole(Scenario& s) {
  prepare::fp8(s, kOneScale);
  prepare::two_steps(s);
}
void microbatches(Scenario& s) {
  whole(s);
  prepare::two_microbatches(s);
}
void skipped(Scenario& s) {
  whole(s);
  s.fp8->skipped_steps = {1};
}
void two_owners(Scenario& s) {
  pieces(s);
  prepare::two_equal_weights(s);
}
void two_owners_sharded(Scenario& s) {
  prepare::fp8_shards(s, kOneScale);
  prepare::two_equal_weights(s);
}
void expert(Scenario& s) {
  prepare::persistent(s);
  prepare::expert(s, 2);
  s.ranks = 4;
  s.expert_parallel = 2;
  pieces(s);
  s.parameters.front().expert = true;
}

}  // namespace

void add_weight_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-F45", "Megatron-FSDP BATCH_QUANT_MEMORY_LIMIT_BYTES (read), fp8 Q32",
           "ranks flush their batches of amaxes at different weights", "F45", two_owners, batches_differ},
          {"M-F46", "ours: the wait of the gather is missing", "codes are gathered while they are being made",
           "F46", pieces_overlapped, gather_not_fenced},
          {"M-F46b", "ours: the wait for the gather is missing",
           "a product reads codes that are still on their way", "F46", pieces_overlapped, use_not_fenced},
          {"M-F46c", "ours: edge E10 of wgrad 6.2 left out, under FSDP2",
           "rows are copied out of a gather that is still on its way", "F46", rows_overlapped,
           copied_out_early},
          {"M-F47", "ours: fp8 4.2 step 1",
           "amaxes are of the masters, codes of their values in the model's type", "F47", pieces,
           amax_of_masters},
          {"M-F50", "ours: fp8 4.9 E4", "after an optimizer step the codes of a weight are not made again",
           "F50", whole, not_requantised},
          {"M-F51", "ours: fp8 4.9 E13", "a weight is quantised again in every microbatch", "F51",
           microbatches, requantised_in_microbatches},
          {"Q28", "NVIDIA/TransformerEngine#74, #79; AMD-AGI/Primus#669 (K28)",
           "amaxes are not reduced over the ranks that share the weight", "F41", pieces, amax_not_reduced},
          {"Q29", "Megatron-LM commit 588ef65812, MR 1747, MR 1971",
           "amaxes of experts are reduced over all ranks", "F48", expert, amax_over_all_ranks},
          {"Q30", "NVIDIA/TransformerEngine#3348; pytorch/ao#3982, #3983",
           "a rank without a piece brings undefined amaxes into the maximum", "F43", two_owners,
           empty_piece_not_zero},
          {"Q31", "Megatron-FSDP _fp8_quantize_fallback (read); Q33, the same for activations",
           "the maximum is in a loop that skips weights of which the rank owns nothing", "F45", two_owners,
           empty_piece_skips},
          {"Q34", "Transformer Engine fp8_block_scaling.cu (read)",
           "a byte of the neighbour's piece, which the cast's halo wrote, is sent instead of an own one",
           "F42", two_owners_sharded, halo_sent},
          {"Q36", "NVIDIA/Megatron-LM#4800, #4982, #5236",
           "the gather runs before one optimizer's weights are quantised", "F50", pieces_in_line,
           gathered_too_early},
          {"Q43", "NVIDIA/TransformerEngine#3246, #3271",
           "one kernel ignores the noop flag of a skipped step", "F56", skipped, noop_ignored},
          {"Q45", "NVIDIA/TransformerEngine#1121, #1544", "masters are built from dequantised codes", "F52",
           whole, masters_from_codes},
          {"Q54", "pytorch/ao#4555",
           "codes are cast by factors that are being replaced, and stored with others", "F38", whole,
           cast_before_scales},
      });
}

}  // namespace shardcheck
