// Book: a job with given contributions, executed op by op, so that the tables of worked examples can be read
// after the events that they name; and the scenario of wgrad 9, a 2x2 weight on two ranks. The examples are
// compiled once for each backend that executes them, which SHARDCHECK_BOOK_BACKEND names.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/contract/monitor.h"
#include "core/numerics/narrow.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck::tests {

inline constexpr const char* kBookBackend = SHARDCHECK_BOOK_BACKEND;

using Values = std::vector<float>;

/// A test of worked examples; skipped, with the reason, where the backend is missing.
class WorkedExample : public testing::Test {
 protected:
  void SetUp() override {
    for (const BackendEntry& entry : list_backends()) {
      if (entry.name == kBookBackend && !entry.available) GTEST_SKIP() << entry.reason;
    }
  }
};

/// A job whose contributions are given, executed op by op.
class Book {
 public:
  explicit Book(Scenario scenario)
      : scenario_(std::move(scenario)), backend_(make_backend(kBookBackend, {"ideal"})) {
    scenario_.tokens = 2;  // token t carries column t of the gradient
    planned_ = plan_of(scenario_);
    apply_fault(planned_, scenario_);
  }

  /// Parts that the backend folds the ranks onto: 1 where reductions add in the order of the ranks.
  std::int32_t fold() const { return backend_->info().fold; }

  void give(int rank, int step, int microbatch, int use, const Values& gradient) {
    given_[{rank, step, microbatch, use}] = gradient;
  }

  /// Runs until the `count`-th op of that kind and purpose has been executed.
  template <class Kind>
  void run_to(Purpose purpose, int count = 1) {
    begin();
    for (; count > 0; ++at_) {
      ASSERT_LT(at_, std::ssize(planned_.plan.ops)) << "the plan has no such op";
      const Op& op = planned_.plan.ops[static_cast<std::size_t>(at_)];
      step_over();
      if (std::holds_alternative<Kind>(op.action) && op.why.purpose == purpose) --count;
    }
  }
  void run_to_end() { run_whole(std::ssize(planned_.plan.ops)); }
  void run_to_finish(std::size_t step) { run_whole(planned_.finishes[step].value); }

  Values read(int rank, const std::string& name, std::int64_t numel = 4) {
    const Plan& plan = planned_.plan;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].name != name) continue;
      const View view{BufferId{static_cast<int>(b)}, 0, numel};
      std::vector<std::byte> bytes(static_cast<std::size_t>(numel * bytes_of(plan.buffers[b].dtype)));
      backend_->read(plan, Rank{rank}, view, bytes);
      Values values(static_cast<std::size_t>(numel));
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (plan.buffers[b].dtype == DType::f32) {
          std::memcpy(&values[i], bytes.data() + 4 * i, 4);
        } else {
          std::uint16_t code = 0;
          std::memcpy(&code, bytes.data() + 2 * i, 2);
          values[i] = bf16_to_f32(code);
        }
      }
      return values;
    }
    ADD_FAILURE() << "no buffer " << name;
    return {};
  }

  std::string first_clause() const {
    const auto findings = judge(planned_.plan);
    return findings.empty() ? "" : findings.front().clause;
  }
  Planned& planned() { return planned_; }
  const Backend& backend() const { return *backend_; }

 private:
  void step_over() {
    backend_->execute(planned_.plan, OpIndex{static_cast<int>(at_)}, OpIndex{static_cast<int>(at_) + 1});
  }

  /// In one piece, so that a backend may replay what the plan captures.
  void run_whole(std::ptrdiff_t end) {
    begin();
    backend_->execute(planned_.plan, OpIndex{static_cast<int>(at_)}, OpIndex{static_cast<int>(end)});
    at_ = end;
  }
  void begin() {
    if (at_ > 0) return;
    for (; at_ < planned_.setup_end.value; ++at_) step_over();
    for (const auto& [where, gradient] : given_) {
      const auto [rank, step, microbatch, use] = where;
      for (const InputSlot& slot : planned_.inputs) {
        if (slot.step != step || slot.microbatch != microbatch || slot.use != use) continue;
        write(rank, slot.x, {1, 0, 0, 1});
        write(rank, slot.dy, {gradient[0], gradient[2], gradient[1], gradient[3]});
      }
    }
  }
  void write(int rank, View view, const Values& values) {
    std::vector<std::byte> bytes;
    const bool narrow = planned_.plan.buffer(view.buffer).dtype == DType::bf16;
    for (const float value : values) {
      const std::uint16_t code = f32_to_bf16(value);
      const auto* begin =
          narrow ? reinterpret_cast<const std::byte*>(&code) : reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), begin, begin + (narrow ? 2 : 4));
    }
    backend_->write(planned_.plan, Rank{rank}, {view.buffer, view.offset, std::ssize(values)}, bytes);
  }

  Scenario scenario_;
  Planned planned_;
  std::unique_ptr<Backend> backend_;
  std::map<std::array<int, 4>, Values> given_;
  std::ptrdiff_t at_ = 0;
};

inline Scenario two_by_two(Strategy strategy) {
  Scenario s;
  s.strategy = strategy;
  s.ranks = 2;
  s.microbatches = 2;
  s.steps = 2;
  s.overlap = false;
  s.data = DataMode::integers;
  s.parameters = {{.name = "w", .shape = {2, 2}}};
  s.uses = {{0, Producer::fused, -1}};
  return s;
}

}  // namespace shardcheck::tests
