#include "sim/weights/fp8_weights.h"

#include <algorithm>

#include "sim/weights/requantise.h"

namespace shardcheck {

using recipe::Direction;

Fp8Weights::Fp8Weights(Job& job)
    : job_(job),
      store_(job),
      gathers_(job, store_),
      products_(job, store_),
      checkpoint_(job, store_, products_) {}

void Fp8Weights::setup() {
  store_.setup();
  products_.setup();
  if (job_.scenario.fp8->reload_after >= 0) checkpoint_.setup();
}

void Fp8Weights::create() {
  create_weights(job_, store_);
  gathers_.begin_whole();
  if (store_.gives_up()) reshard_all();
}

void Fp8Weights::reshard_all() {
  for (std::size_t b = 0; b < job_.geometry.buckets.size(); ++b) gathers_.reshard(b);
}

std::vector<Direction> Fp8Weights::gathered_for(Pass pass) const {
  const auto& quantised = store_.recipe().quantised;
  // A backward that finds its weights whole gathers nothing.
  if (pass == Pass::forward && !gives_up_after(pass) && store_.gives_up())
    return {quantised.begin(), quantised.end()};
  if (pass != Pass::backward || store_.recipe().derives_column) return {Direction::row};
  if (job_.scenario.fp8->recompute) return {Direction::row, Direction::column};
  return {Direction::column};
}

void Fp8Weights::begin_pass(Pass pass, const std::vector<UseSite>& sites) {
  pass_ = pass;
  buckets_.clear();
  next_ = 0;
  for (const UseSite& site : sites) {
    if (store_.has(site.parameter))
      buckets_.push_back(
          static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(site.parameter)]));
  }
  launch(0);
}

void Fp8Weights::launch(std::size_t position) {
  if (position >= buckets_.size()) return;
  for (const Direction direction : gathered_for(pass_)) gathers_.launch(buckets_[position], direction);
}

void Fp8Weights::launch_all() {
  for (std::size_t b = 0; b < job_.geometry.buckets.size(); ++b) {
    for (const Direction direction : store_.recipe().quantised) gathers_.launch(b, direction);
  }
}

void Fp8Weights::use(const UseSite& site) {
  if (!store_.has(site.parameter)) return;
  const std::size_t bucket = buckets_[next_++];
  launch(next_);  // the bucket after this one is on its way while this one is multiplied
  for (const Direction direction : gathered_for(pass_)) gathers_.await(bucket, direction);
  const bool backward = pass_ == Pass::backward;
  if (backward && job_.scenario.fp8->recompute) products_.run(site, Pass::recompute);
  if (backward) gathers_.derive(store_.weight_of(site.parameter));
  products_.run(site, pass_);
  const bool is_needed = std::find(buckets_.begin() + static_cast<std::ptrdiff_t>(next_), buckets_.end(),
                                   bucket) != buckets_.end();
  if (!is_needed) release(bucket);
}

/// The last use of the bucket in this pass is over (E11, E12).
void Fp8Weights::release(std::size_t bucket) {
  if (pass_ == Pass::backward && job_.scenario.fp8->transposes == Transposes::discard) {
    for (const Member& member : job_.geometry.buckets[bucket].members) {
      if (store_.has(member.parameter)) gathers_.discard(store_.weight_of(member.parameter));
    }
  }
  if (gives_up_after(pass_))
    gathers_.reshard(bucket);
  else if (store_.gives_up())
    job_.take(Row::keep_weights);
}

bool Fp8Weights::gives_up_after(Pass pass) const {
  const bool is_last = job_.microbatch == job_.scenario.microbatches - 1;
  switch (job_.scenario.reshard) {
    case Reshard::after_forward: return store_.gives_up();
    case Reshard::after_backward: return pass == Pass::backward;
    case Reshard::after_step: return pass == Pass::backward && is_last;
  }
  return true;
}

void Fp8Weights::end_step() {
  if (has_reshard(job_.scenario)) reshard_all();  // the final callback finds what no backward used
  if (!is_skipped(job_.scenario, job_.step)) {
    gathers_.settle();
    requantise_weights(job_, store_);
    gathers_.invalidate();
    // ZeRO-3 gathers when a unit is needed; the others keep whole codes (fp8 4.9).
    if (!store_.gives_up()) launch_all();
  }
  products_.close_step();
}

void Fp8Weights::between_steps(const std::vector<UseSite>& sites) {
  const Fp8Training& fp8 = *job_.scenario.fp8;
  if (std::ranges::count(fp8.evaluations, job_.step) > 0) {
    begin_pass(Pass::evaluation, sites);
    for (const UseSite& site : sites) use(site);
  }
  if (fp8.reload_after != job_.step) return;
  checkpoint_.reload(gathers_);
  if (!store_.gives_up()) launch_all();
}

}  // namespace shardcheck
