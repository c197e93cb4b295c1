#include "sim/weights/checkpoint.h"

#include <algorithm>

namespace shardcheck {

using recipe::Direction;

Checkpoint::Checkpoint(Job& job, const WeightStore& store, const Products& products)
    : job_(job), store_(store), products_(products) {}

void Checkpoint::setup() {
  const auto everywhere = [&](View view) { return std::vector<View>(job_.all_ranks.size(), view); };
  const auto keep_delayed = [&](const DelayedViews& delayed, const std::string& name) {
    keep("saved.history." + name, BufferRole::amaxes, everywhere(delayed.history));
    keep("saved.delayed_scale." + name, BufferRole::amaxes, everywhere(delayed.scale));
  };
  for (const Weight& weight : store_.weights()) {
    const std::string& name = job_.parameter(weight.parameter).name;
    std::vector<View> masters;
    for (const WeightPiece& piece : weight.pieces) masters.push_back(piece.master);
    keep("saved.master." + name, BufferRole::master, masters);
    for (const Direction direction : store_.recipe().quantised) {
      const CopyViews& copy = weight.copy(direction);
      std::vector<View> codes;
      for (const Rank rank : job_.all_ranks) codes.push_back(store_.own_codes(weight, direction, rank));
      const std::string which(name_of(direction));
      keep("saved." + which + "_codes." + name, BufferRole::codes, codes);
      keep("saved." + which + "_scales." + name, BufferRole::scales, everywhere(copy.scales));
    }
    if (store_.recipe().is_delayed) keep_delayed(weight.delayed, name);
  }
  for (std::size_t i = 0; i < products_.delayed().size(); ++i)
    keep_delayed(products_.delayed()[i], "activation." + std::to_string(i));
}

void Checkpoint::keep(const std::string& name, BufferRole role, std::vector<View> live) {
  std::int64_t most = 0;
  for (const View& view : live) most = std::max(most, view.numel);
  const DType type = job_.planned.plan.buffer(live.front().buffer).dtype;
  const BufferId saved = job_.allocate(name, role, type, most);
  all_.push_back({std::move(live), saved});
}

void Checkpoint::copy(const Kept& kept, Way way) {
  std::vector<Rank> ranks;
  for (const Rank rank : job_.all_ranks) {
    if (kept.live[static_cast<std::size_t>(rank.value)].numel > 0) ranks.push_back(rank);
  }
  const auto live = [&](std::int32_t i) {
    return kept.live[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)].value)];
  };
  const auto saved = [&](std::int32_t i) { return View{kept.saved, 0, live(i).numel}; };
  job_.build.op(Copy{}, job_.why(Purpose::weights), Stream::compute, ranks);
  if (way == Way::save)
    job_.build.on_each(live).on_each(saved);
  else
    job_.build.on_each(saved).on_each(live);
}

void Checkpoint::reload(Gathers& gathers) {
  gathers.settle();
  for (const Kept& kept : all_) copy(kept, Way::save);
  gathers.forget();
  for (const Kept& kept : all_) {
    job_.build.op(Undefine{}, job_.why(Purpose::weights), Stream::compute, job_.all_ranks);
    job_.build.on_each([&](std::int32_t i) { return kept.live[static_cast<std::size_t>(i)]; });
  }
  for (const Kept& kept : all_) copy(kept, Way::load);
}

}  // namespace shardcheck
