#include "sim/weights/products.h"

#include <algorithm>

#include "core/integers.h"

namespace shardcheck {
namespace {

using recipe::Direction;

Purpose purpose_of(Pass pass) {
  return pass == Pass::backward    ? Purpose::backward
         : pass == Pass::recompute ? Purpose::recompute
                                   : Purpose::forward;
}

bool is_backward(Pass pass) {
  return pass == Pass::backward;
}

}  // namespace

void Products::setup() {
  most_tokens_ = most_tokens(job_.scenario);
  allocate_outputs();
  allocate_scratch();
  if (store_.recipe().is_delayed) allocate_histories();
}

/// Outputs begin at multiples of 16 bytes, as a GPU's GEMM wants them.
void Products::allocate_outputs() {
  const Scenario& s = job_.scenario;
  std::int64_t at = 0;
  std::vector<std::int32_t> seen(s.parameters.size());
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    const std::int32_t parameter = s.uses[u].parameter;
    const std::int32_t use = seen[static_cast<std::size_t>(parameter)]++;
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::int32_t m = 0; m < s.microbatches; ++m) {
        const bool backward = is_backward(static_cast<Pass>(pass));
        const bool exists =
            store_.has(parameter) && (static_cast<Pass>(pass) != Pass::recompute || s.fp8->recompute) &&
            (static_cast<Pass>(pass) != Pass::evaluation || (!s.fp8->evaluations.empty() && m == 0));
        const ScenarioParameter& p = job_.parameter(parameter);
        const std::int64_t width = backward ? p.columns() : p.rows();
        outputs_.push_back({BufferId{0}, at, exists ? most_tokens_ * width : 0});
        at += round_up(outputs_.back().numel, 8);
        if (outputs_.back().numel == 0) continue;
        job_.planned.outputs.push_back({parameter, use, m, static_cast<Pass>(pass), outputs_.back()});
      }
    }
  }
  const BufferId buffer = job_.allocate("outputs", BufferRole::activations, DType::bf16, at);
  for (View& view : outputs_) view.buffer = buffer;
  for (OutputSlot& slot : job_.planned.outputs) slot.view.buffer = buffer;
  job_.build.op(Fill{0}, job_.why(Purpose::setup), Stream::compute, job_.all_ranks)
      .on(job_.build.whole(buffer));
}

void Products::allocate_scratch() {
  const WeightRecipe& recipe = store_.recipe();
  std::int64_t widest = 0, most_scales = 0, largest = 0;
  DType plane = DType::f32;
  for (const Weight& weight : store_.weights()) {
    for (const std::int64_t width : {weight.extent.rows, weight.extent.columns}) {
      widest = std::max(widest, width);
      const PlaneSize size = plane_size(recipe.activations, Direction::row, {most_tokens_, width});
      most_scales = std::max(most_scales, size.numel);
      plane = size.dtype;
    }
    largest = std::max(largest, weight.extent.numel());
  }
  const auto allocate = [&](const char* name, DType type, std::int64_t numel) {
    return job_.build.whole(job_.allocate(name, BufferRole::activations, type, numel));
  };
  codes_[0] = codes_[1] = allocate("activation_codes", DType::e4m3, most_tokens_ * widest);
  if (recipe.gradient_codes != DType::e4m3)
    codes_[1] = allocate("gradient_codes", recipe.gradient_codes, most_tokens_ * widest);
  scales_ = allocate("activation_scales", plane, most_scales);
  if (!recipe.decodes) return;
  decoded_activation_ = allocate("decoded_activation", DType::bf16, most_tokens_ * widest);
  decoded_weight_ = allocate("decoded_weight", DType::bf16, largest);
}

void Products::allocate_histories() {
  const auto tensors = static_cast<std::int64_t>(2 * job_.scenario.uses.size());
  const std::int64_t length = job_.scenario.fp8->history;
  const auto allocate = [&](const char* name, std::int64_t numel) {
    return job_.allocate(name, BufferRole::amaxes, DType::f32, numel);
  };
  const BufferId amaxes = allocate("activation_amaxes", tensors);
  const BufferId histories = allocate("activation_histories", tensors * length);
  const BufferId scales = allocate("activation_delayed_scales", tensors * 2);
  for (std::int64_t i = 0; i < tensors; ++i)
    delayed_.push_back({{amaxes, i, 1}, {histories, i * length, length}, {scales, 2 * i, 2}});
  std::vector<std::int32_t> seen(job_.scenario.parameters.size());
  for (std::size_t u = 0; u < job_.scenario.uses.size(); ++u) {
    const std::int32_t parameter = job_.scenario.uses[u].parameter;
    const std::int32_t use = seen[static_cast<std::size_t>(parameter)]++;
    if (!store_.has(parameter)) continue;
    const WeightRecipe& recipe = store_.recipe();
    const DelayedViews &x = delayed_[2 * u], &dy = delayed_[2 * u + 1];
    auto& slots = job_.planned.delayed_activations;
    slots.push_back({parameter, use, Pass::forward, recipe.largest, x.history, x.scale});
    slots.push_back({parameter, use, Pass::backward, recipe.largest_gradient, dy.history, dy.scale});
  }
  packed_amaxes_ = job_.build.whole(amaxes);
  const Why why = job_.why(Purpose::setup);
  for (const BufferId zeros : {amaxes, histories})
    job_.build.op(Fill{0}, why, Stream::compute, job_.all_ranks).on(job_.build.whole(zeros));
  job_.build.op(Fill{1}, why, Stream::compute, job_.all_ranks).on(job_.build.whole(scales));
}

Why Products::why(const UseSite& site, Pass pass) const {
  return job_.why(purpose_of(pass), site.parameter, site.use);
}

View Products::input_of(const UseSite& site, Pass pass, std::int64_t tokens) const {
  const InputSlot& slot = job_.input_of(site.position, 0);
  const ScenarioParameter& p = job_.parameter(site.parameter);
  View view = is_backward(pass) ? slot.dy : slot.x;
  view.numel = tokens * (is_backward(pass) ? p.rows() : p.columns());
  return view;
}

View Products::output_of(const UseSite& site, Pass pass, std::int64_t tokens) const {
  const std::int32_t microbatch = std::max(job_.microbatch, 0);
  const auto index =
      (site.position * kPasses + static_cast<int>(pass)) * job_.scenario.microbatches + microbatch;
  const ScenarioParameter& p = job_.parameter(site.parameter);
  View view = outputs_[static_cast<std::size_t>(index)];
  view.numel = tokens * (is_backward(pass) ? p.columns() : p.rows());
  return view;
}

void Products::run(const UseSite& site, Pass pass) {
  const auto tokens_on = [&](Rank rank) {
    return tokens_at(job_.scenario, {site.parameter, 0, rank.value, std::max(job_.microbatch, 0)});
  };
  job_.each_group(site.ranks, tokens_on, [&](std::int64_t tokens, std::span<const Rank> ranks) {
    if (tokens > 0) product(site, pass, tokens, ranks);
  });
}

Products::Operand Products::quantise(const UseSite& site, Pass pass, Shape shape,
                                     std::span<const Rank> ranks) {
  const WeightRecipe& recipe = store_.recipe();
  const BlockCopy copy{recipe.activations, Direction::row, shape.tokens, shape.columns};
  const View source = input_of(site, pass, shape.tokens);
  Operand made{codes_[is_backward(pass)], scales_, decoded_activation_};
  made.codes.numel = made.decoded.numel = source.numel;
  made.scales.numel = plane_size(recipe.activations, Direction::row, {shape.tokens, shape.columns}).numel;
  const auto op = [&](Action action) -> PlanBuilder& {
    return job_.build.op(action, why(site, pass), Stream::compute, ranks);
  };
  if (recipe.is_delayed) {
    const DelayedViews& state = delayed_[static_cast<std::size_t>(2 * site.position + is_backward(pass))];
    const View scale{state.scale.buffer, state.scale.offset, 1};
    op(QuantizeBlocks{copy, 0}).on(source).on(scale).on(made.codes);
    made.scales = {state.scale.buffer, state.scale.offset + 1, 1};
    const bool pushes = pass == Pass::forward || pass == Pass::backward;
    if (pushes) op(TakeAmax{copy, 0}).on(source).on(state.amax);
    return made;
  }
  const View none{made.codes.buffer, 0, 0};
  op(QuantizeMatrix{copy}).on(source).on(made.codes).on(made.scales).on(none).on(none);
  if (recipe.decodes) op(DequantizeBlocks{copy, 0}).on(made.codes).on(made.scales).on(made.decoded);
  return made;
}

View Products::decode_weight(const UseSite& site, Pass pass, std::span<const Rank> ranks) {
  const Weight& weight = store_.weight_of(site.parameter);
  const Direction direction = is_backward(pass) ? Direction::column : Direction::row;
  const CopyViews& copy = weight.copy(direction);
  const View decoded{decoded_weight_.buffer, 0, weight.extent.numel()};
  job_.build.op(DequantizeBlocks{store_.block_copy(weight, direction), 0}, why(site, pass), Stream::compute,
                ranks);
  job_.build.on(copy.codes).on(copy.scales).on(decoded);
  return decoded;
}

/// Column-major, as the library multiplies: the weight is A, what it meets is B, and D is tokens x m
/// row-major.
void Products::product(const UseSite& site, Pass pass, std::int64_t tokens, std::span<const Rank> ranks) {
  const WeightRecipe& recipe = store_.recipe();
  const Weight& weight = store_.weight_of(site.parameter);
  const bool backward = is_backward(pass);
  const CopyViews& copy = backward ? weight.column : weight.row;
  Matmul matmul{.m = backward ? weight.extent.columns : weight.extent.rows,
                .n = tokens,
                .k = backward ? weight.extent.rows : weight.extent.columns,
                .scales_a = recipe.weight_scales,
                .scales_b = recipe.activation_scales};
  const Operand operand = quantise(site, pass, {tokens, matmul.k}, ranks);
  const View output = output_of(site, pass, tokens);
  if (!recipe.decodes) {
    job_.build.op(matmul, why(site, pass), Stream::compute, ranks).on(copy.codes).on(operand.codes);
    job_.build.on(copy.scales).on(operand.scales).on(output);
    return;
  }
  // Columns that are quantised in place lie as the source does: k is the outer dimension.
  if (backward) matmul.a = OperandLayout::plain;
  const View decoded = decode_weight(site, pass, ranks), none{decoded.buffer, 0, 0};
  job_.build.op(matmul, why(site, pass), Stream::compute, ranks).on(decoded).on(operand.decoded);
  job_.build.on(none).on(none).on(output);
}

void Products::close_step() {
  if (delayed_.empty()) return;
  const Why why = job_.why(Purpose::weights);
  if (job_.scenario.ranks > 1) {
    const Communicate reduce{Collective::all_reduce, Reduction::maximum, job_.scenario.ranks};
    job_.build.op(reduce, why, Stream::compute, job_.all_ranks).on(packed_amaxes_).on(packed_amaxes_);
  }
  for (std::size_t i = 0; i < delayed_.size(); ++i) {
    const WeightRecipe& recipe = store_.recipe();
    const CloseDelayedStep close{.largest = i % 2 == 0 ? recipe.largest : recipe.largest_gradient};
    job_.build.op(close, why, Stream::compute, job_.all_ranks);
    job_.build.on(delayed_[i].amax).on(delayed_[i].history).on(delayed_[i].scale);
  }
  job_.build.op(Fill{0}, why, Stream::compute, job_.all_ranks).on(packed_amaxes_);
}

}  // namespace shardcheck
