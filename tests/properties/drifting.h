// A machine that does not repeat itself: what it gives back has another last bit, on one rank or in every
// other run.
#pragma once

#include "backends/registry.h"

namespace shardcheck::tests {

class Drifting final : public Backend {
 public:
  enum class Drift { on_rank_1, in_every_other_run };
  explicit Drifting(Drift drift) : cpu_(make_backend("cpu", {.profile = "ideal"})), drift_(drift) {}

  BackendInfo info() const override { return cpu_->info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    runs_ += first.value == 0;
    cpu_->execute(plan, first, last);
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    cpu_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    cpu_->read(plan, rank, view, bytes);
    const bool drifts = drift_ == Drift::on_rank_1 ? rank.value == 1 : runs_ % 2 == 0;
    if (drifts && !bytes.empty()) bytes.front() ^= std::byte{1};
  }

 private:
  std::unique_ptr<Backend> cpu_;
  Drift drift_;
  int runs_ = 0;
};

}  // namespace shardcheck::tests
