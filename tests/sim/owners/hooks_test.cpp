// What the hook does with the gradient of autograd: the reference (R5 to R7) and today's two
// (wgrad 3.1, 3.4).
#include "sim/owners/hooks.h"

#include <gtest/gtest.h>

#include "sim/producers/producer.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// Lends one view and does nothing else.
class OneView : public Owner {
 public:
  explicit OneView(Job& job) : main_(job.allocate("main_grad", BufferRole::main_grad, DType::f32, 128)) {}
  void setup() override {}
  void begin_step() override {}
  void unshard(std::int32_t) override {}
  std::vector<Piece> acquire(std::int32_t) override { return {{{main_, 0, 128}, 0}}; }
  void parameter_done(std::int32_t) override {}
  void end_backward(bool) override {}
  void abort_step() override {}
  void resume() override {}
  void finish() override {}

 private:
  BufferId main_;
};

constexpr Strategy kDdp = Strategy::megatron_ddp, kOptim = Strategy::fsdp_optim,
                   kLease = Strategy::fsdp_optim_grads;
constexpr WriteMode kToday = WriteMode::te_module, kReference = WriteMode::r5;

struct HookCase {
  std::string_view name;
  Strategy strategy;
  WriteMode mode;
  bool mixed;  // fused and unfused uses
  HostState host;
  std::string_view words;  // of the ops that the hook appends
};

/// The words of a hook that folds: autograd first adds the zeroed placeholder of the fused use.
constexpr std::string_view kMixedAdd = "undefine zero-dummy dummy+ hook+ fold+";
constexpr std::string_view kMixedCopy = "undefine zero-dummy dummy+ hook= fold=";

const HookCase kHookCases[] = {
    {"no gradient", kDdp, kReference, false, {}, ""},
    {"fused", kDdp, kReference, false, {.added = true, .touched = true, .dummies = 1}, "drop"},
    {"unfused on zeros", kDdp, kReference, false, {.known_zero = true, .real = 1}, "hook+ fold+"},
    {"unfused on a touched range", kDdp, kReference, false, {.touched = true, .real = 1}, "hook+ fold+"},
    {"unfused on undefined bytes", kLease, kReference, false, {.real = 1}, "hook= fold="},
    {"mixed", kLease, kReference, true, {.added = true, .touched = true, .real = 1, .dummies = 1}, kMixedAdd},
    {"DDP, no gradient", kDdp, kToday, false, {}, ""},
    {"DDP, fused", kDdp, kToday, false, {.added = true, .touched = true, .dummies = 1}, "drop"},
    {"DDP, unfused", kDdp, kToday, false, {.real = 1}, "hook+ fold+"},
    {"DDP, unfused with a sticky flag", kDdp, kToday, false, {.added = true, .real = 1}, "drop"},
    {"DDP, zero_out_wgrad", kDdp, kToday, true, {.added = true, .real = 1, .dummies = 1}, kMixedAdd},
    {"FSDP, no gradient", kOptim, kToday, false, {}, ""},
    {"FSDP, fused", kOptim, kToday, false, {.added = true, .touched = true, .dummies = 1}, "drop"},
    {"FSDP, unfused", kOptim, kToday, false, {.real = 1}, "hook+ fold+"},
    {"FSDP, mixed: the real part is dropped",
     kOptim,
     kToday,
     true,
     {.added = true, .real = 1, .dummies = 1},
     "drop"},
    {"FSDP, flag lowered", kOptim, kToday, true, {.real = 1, .dummies = 1}, kMixedAdd},
    {"lease, unfused", kLease, kToday, false, {.real = 1}, "hook= fold="},
    {"lease, mixed, flag lowered", kLease, kToday, true, {.real = 1, .dummies = 1}, kMixedCopy},
};

TEST(Hooks, Table) {
  for (const HookCase& c : kHookCases) {
    Scenario s = base(c.strategy);
    s.write_mode = c.mode;
    if (c.mixed) s.uses = {{0, Producer::unfused}, {0, Producer::fused}};
    Job job(s);
    Producers(job).setup();
    OneView owner(job);
    for (Rank rank : job.all_ranks) job.host(rank, 0) = c.host;
    const auto begin = job.planned.plan.ops.size();
    run_hook(job, owner, 0);
    std::string words;
    for (std::size_t i = begin; i < job.planned.plan.ops.size(); ++i)
      words += (words.empty() ? "" : " ") + word_of(job.planned.plan, job.planned.plan.ops[i]);
    EXPECT_EQ(words, c.words) << c.name;
    if (c.words.empty()) continue;
    const HostState& after = job.host(Rank{0}, 0);
    EXPECT_EQ(after.real + after.dummies, 0) << c.name << ": autograd holds nothing any more";
    const bool sticky = c.strategy == kDdp && c.mode == kToday;
    EXPECT_EQ(after.added, sticky && c.host.added) << c.name;
    if (words.find("fold") != std::string::npos) {
      EXPECT_TRUE(after.touched && !after.known_zero) << c.name;
    }
  }
}

TEST(Hooks, RanksThatDifferGetTheirOwnHook) {
  const Scenario s = base(kLease);
  Job job(s);
  Producers(job).setup();
  OneView owner(job);
  job.host(Rank{0}, 0) = {.touched = true, .real = 1};
  job.host(Rank{1}, 0) = {.real = 1};
  const auto begin = job.planned.plan.ops.size();
  run_hook(job, owner, 0);
  const Plan& plan = job.planned.plan;
  ASSERT_EQ(plan.ops.size(), begin + 4);
  EXPECT_EQ(word_of(plan, plan.ops[begin + 1]), "fold+");
  EXPECT_EQ(plan.ranks_of(plan.ops[begin + 1])[0], Rank{0});
  EXPECT_EQ(word_of(plan, plan.ops[begin + 3]), "fold=");
  EXPECT_EQ(plan.ranks_of(plan.ops[begin + 3])[0], Rank{1});
}

TEST(Hooks, TodaysFsdpPostponesTheHookOfASharedParameter) {
  for (const auto& [strategy, mode, uses, postponed] : {std::tuple{kOptim, kToday, 2, true},
                                                        {kOptim, kToday, 1, false},
                                                        {kOptim, kReference, 2, false},
                                                        {kDdp, kToday, 2, false}}) {
    Scenario s = base(strategy);
    s.write_mode = mode;
    s.uses.resize(static_cast<std::size_t>(uses));
    EXPECT_EQ(is_hook_postponed(Job(s), 0), postponed);
  }
}

}  // namespace
}  // namespace shardcheck::tests
