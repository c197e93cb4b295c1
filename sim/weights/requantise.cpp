#include "sim/weights/requantise.h"

namespace shardcheck {
namespace {

using recipe::Direction;

/// One weight at a time; a rank's piece of it begins anywhere.
class Quantiser {
 public:
  Quantiser(Job& job, const WeightStore& store, Purpose purpose)
      : job_(job), store_(store), purpose_(purpose) {}

  /// `emit(ranks, first)` for the ranks whose pieces begin at the same element; empty pieces are left out.
  template <class Emit>
  void each_piece(const Weight& weight, Emit emit) const {
    std::vector<Rank> owners;
    for (const Rank rank : job_.all_ranks) {
      if (piece_of(weight, rank).numel > 0) owners.push_back(rank);
    }
    const auto first_of = [&](Rank rank) { return piece_of(weight, rank).first; };
    job_.each_group(owners, first_of,
                    [&](std::int64_t first, std::span<const Rank> ranks) { emit(ranks, first); });
  }

  PlanBuilder& op(Action action, const Weight& weight, std::span<const Rank> ranks) const {
    return job_.build.op(action, job_.why(purpose_, weight.parameter), Stream::compute, ranks);
  }
  PlanBuilder& op(Action action, const Weight& weight) const { return op(action, weight, job_.all_ranks); }

  void take_amaxes(const Weight& weight, Direction direction) const {
    each_piece(weight, [&](std::span<const Rank> ranks, std::int64_t first) {
      op(TakeAmax{store_.block_copy(weight, direction), first}, weight, ranks);
      rounded_pieces(weight, ranks).on(weight.copy(direction).amaxes);
    });
  }

  void scales(const Weight& weight, Direction direction) const {
    const CopyViews& copy = weight.copy(direction);
    op(ScaleFromAmax{store_.block_copy(weight, direction)}, weight);
    job_.build.on(copy.amaxes).on(copy.factors).on(copy.scales);
  }

  void cast(const Weight& weight, Direction direction) const {
    const CopyViews& copy = weight.copy(direction);
    const bool delayed = store_.recipe().is_delayed;
    const View factors = delayed ? part_of(weight.delayed.scale, 0) : copy.factors;
    each_piece(weight, [&](std::span<const Rank> ranks, std::int64_t first) {
      op(QuantizeBlocks{store_.block_copy(weight, direction), first}, weight, ranks);
      rounded_pieces(weight, ranks).on(factors);
      job_.build.on_each([&](std::int32_t i) {
        return store_.own_codes(weight, direction, ranks[static_cast<std::size_t>(i)]);
      });
    });
  }

  /// Each rank takes its piece out of codes that are whole where they have storage of their own.
  void cut(const Weight& weight, Direction direction) const {
    const View whole = weight.copy(direction).codes;
    each_piece(weight, [&](std::span<const Rank> ranks, std::int64_t first) {
      op(Copy{}, weight, ranks);
      const auto own = [&](std::int32_t i) {
        return store_.own_codes(weight, direction, ranks[static_cast<std::size_t>(i)]);
      };
      job_.build.on_each([&](std::int32_t i) {
        return View{whole.buffer, whole.offset + first, own(i).numel};
      });
      job_.build.on_each(own);
    });
  }

  /// The inverse of the scale that codes are cast by goes with them; the next scale is of later codes.
  void store_inverse(const Weight& weight) const {
    op(Copy{}, weight).on(part_of(weight.delayed.scale, 1)).on(weight.row.scales);
  }

  void close(const Weight& weight) const {
    op(CloseDelayedStep{.largest = store_.recipe().largest}, weight);
    job_.build.on(weight.delayed.amax).on(weight.delayed.history).on(weight.delayed.scale);
  }

  /// Step 1: the declared double rounding; amaxes are of the rounded piece (F47).
  void round(const Weight& weight) const {
    each_piece(weight, [&](std::span<const Rank> ranks, std::int64_t) {
      op(Copy{}, weight, ranks).on_each([&](std::int32_t i) {
        return piece_of(weight, ranks[static_cast<std::size_t>(i)]).master;
      });
      rounded_pieces(weight, ranks);
    });
  }

  static View part_of(View views, std::int64_t index) { return {views.buffer, views.offset + index, 1}; }
  static const WeightPiece& piece_of(const Weight& weight, Rank rank) {
    return weight.pieces[static_cast<std::size_t>(rank.value)];
  }

 private:
  PlanBuilder& rounded_pieces(const Weight& weight, std::span<const Rank> ranks) const {
    return job_.build.on_each([&](std::int32_t i) {
      return View{weight.rounded.buffer, 0, piece_of(weight, ranks[static_cast<std::size_t>(i)]).numel};
    });
  }

  Job& job_;
  const WeightStore& store_;
  Purpose purpose_;
};

/// Steps 3 and 4: one packed buffer a group, zero where a rank owns nothing, reduced by all of its ranks.
void measure(Job& job, const WeightStore& store, const Quantiser& quantiser) {
  const Why why = job.why(Purpose::weights);
  for (const PackedAmaxes& packed : store.packed())
    job.build.op(Fill{0}, why, Stream::compute, job.all_ranks).on(packed.all);
  for (const Weight& weight : store.weights()) {
    for (const Direction direction : store.recipe().quantised) quantiser.take_amaxes(weight, direction);
  }
  if (!shards_gradient(job.scenario.strategy)) return;
  for (const PackedAmaxes& packed : store.packed()) {
    const std::int32_t group = domain_size(job.scenario, packed.expert);
    if (group == 1) continue;
    const Communicate reduce{Collective::all_reduce, Reduction::maximum, group};
    job.build.op(reduce, why, Stream::compute, job.reduction_ranks({.expert = packed.expert}));
    job.build.on(packed.all).on(packed.all);
  }
}

void create(Job& job, const WeightStore& store, const Weight& weight) {
  const Quantiser quantiser(job, store, Purpose::setup);
  const View none{weight.row.codes.buffer, 0, 0};
  if (!store.recipe().is_delayed) {
    quantiser.op(QuantizeMatrix{store.block_copy(weight, Direction::row)}, weight).on(weight.initial);
    job.build.on(weight.row.codes).on(weight.row.scales);
    const bool both = !store.recipe().derives_column;
    job.build.on(both ? weight.column.codes : none).on(both ? weight.column.scales : none);
    return;
  }
  const BlockCopy whole = store.block_copy(weight, Direction::row);
  quantiser.op(QuantizeBlocks{whole, 0}, weight).on(weight.initial);
  job.build.on(Quantiser::part_of(weight.delayed.scale, 0)).on(weight.row.codes);
  quantiser.store_inverse(weight);
  quantiser.op(Fill{0}, weight).on(weight.delayed.amax);
  quantiser.op(TakeAmax{whole, 0}, weight).on(weight.initial).on(weight.delayed.amax);
  quantiser.close(weight);
}

void build_masters(Job& job, const WeightStore& store, const Weight& weight) {
  const Quantiser quantiser(job, store, Purpose::setup);
  const bool kept = job.scenario.fp8->masters == Masters::kept_init;
  const auto drop_initial = [&] { quantiser.op(Undefine{}, weight).on(weight.initial); };
  if (!kept) drop_initial();  // nothing better than the codes is there: the loss is declared (F52)
  quantiser.each_piece(weight, [&](std::span<const Rank> ranks, std::int64_t first) {
    const auto part = [&](View whole) {
      return [&ranks, &weight, whole, first](std::int32_t i) {
        return View{whole.buffer, whole.offset + first,
                    Quantiser::piece_of(weight, ranks[static_cast<std::size_t>(i)]).numel};
      };
    };
    if (kept) {
      quantiser.op(Copy{}, weight, ranks).on_each(part(weight.initial));
    } else {
      quantiser.op(DequantizeBlocks{store.block_copy(weight, Direction::row), first}, weight, ranks);
      job.build.on_each(part(weight.row.codes)).on(weight.row.scales);
    }
    job.build.on_each([&](std::int32_t i) {
      return Quantiser::piece_of(weight, ranks[static_cast<std::size_t>(i)]).master;
    });
  });
  if (kept) drop_initial();
}

}  // namespace

void create_weights(Job& job, const WeightStore& store) {
  const Quantiser quantiser(job, store, Purpose::setup);
  for (const Weight& weight : store.weights()) {
    create(job, store, weight);
    for (const Direction direction : store.recipe().quantised) {
      if (store.is_copied_out(weight)) quantiser.cut(weight, direction);
    }
  }
  for (const Weight& weight : store.weights()) build_masters(job, store, weight);
}

void requantise_weights(Job& job, const WeightStore& store) {
  const Quantiser quantiser(job, store, Purpose::weights);
  const auto each_copy = [&](auto visit) {
    for (const Weight& weight : store.weights()) {
      for (const Direction direction : store.recipe().quantised) visit(weight, direction);
    }
  };
  const auto cast = [&](const Weight& weight, Direction direction) { quantiser.cast(weight, direction); };
  for (const Weight& weight : store.weights()) quantiser.round(weight);
  if (!store.recipe().is_delayed) {
    measure(job, store, quantiser);
    each_copy([&](const Weight& weight, Direction direction) { quantiser.scales(weight, direction); });
    each_copy(cast);
    return;
  }
  // A scale of earlier steps casts first; the amax is of the next one (fp8 4.2, delayed).
  each_copy(cast);
  for (const Weight& weight : store.weights()) quantiser.store_inverse(weight);
  measure(job, store, quantiser);
  for (const Weight& weight : store.weights()) quantiser.close(weight);
}

}  // namespace shardcheck
