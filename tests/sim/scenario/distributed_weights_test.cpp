// What a scenario may say of distributed weights, sentence by sentence.
#include "sim/scenario/distributed_weights.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sim/scenario/validate.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

Scenario shared() {
  Scenario s;
  s.ranks = 4;
  s.gtp = 2;
  s.parameters = {{.name = "w0", .shape = {4, 32}}, {.name = "w1", .shape = {4, 32}}};
  s.uses = {{0, Producer::distributed, -1}, {1, Producer::fused, -1}};
  return s;
}

/// The scenario with a distributed weight, changed, is refused with the sentence.
void refuses(const std::function<void(Scenario&)>& change, const std::string& said) {
  Scenario s = shared();
  change(s);
  EXPECT_EQ(tests::sentence_of([&] { validate(s, "f.json"); }), "f.json: " + said);
}

TEST(DistributedWeights, AllowBothOwnersEveryProtocolAndAGroupOfOne) {
  for (const Strategy strategy : {Strategy::megatron_ddp, Strategy::megatron_ddp_zero1}) {
    for (const WriteMode mode : {WriteMode::r5, WriteMode::r7, WriteMode::r8, WriteMode::te_module}) {
      for (const std::int32_t gtp : {1, 2, 4}) {
        Scenario s = shared();
        s.strategy = strategy;
        s.write_mode = mode;
        s.gtp = gtp;
        EXPECT_NO_THROW(validate_distributed(s, "f.json"));
        EXPECT_NO_THROW(validate(s, "f.json"));
      }
    }
  }
}

TEST(DistributedWeights, RefuseAnotherMesh) {
  refuses([](Scenario& s) { s.gtp = 0; }, "mesh.gtp: 0 is out of range; give 1 to 1024");
  refuses([](Scenario& s) { s.gtp = 3; }, "mesh.gtp: 4 ranks are not divisible by gtp 3");
  refuses(
      [](Scenario& s) { s.expert_parallel = 2; },
      "mesh.gtp: a mesh with expert_parallel 2 has no ranks that share distributed weights; use 1, and no "
      "producer \"distributed\"");
  refuses([](Scenario& s) { s.parameters[1].expert = true; },
          "mesh.gtp: \"w1\" is an expert's; distributed weights beside experts are not modelled; leave out "
          "expert, or mesh.gtp and the producer \"distributed\"");
  refuses([](Scenario& s) { s.strategy = Strategy::megatron_ddp_zero1, s.outer = 2; },
          "mesh.gtp: ranks that share distributed weights in 2 outer groups are not modelled; use 1, and no "
          "producer \"distributed\"");
}

TEST(DistributedWeights, RefuseAnotherWeight) {
  const std::string producer = "uses[0].producer: \"distributed\" ";
  refuses([](Scenario& s) { s.strategy = Strategy::fsdp_optim; },
          producer +
              "under megatron-fsdp-v1/optim; distributed weights are of megatron-ddp and "
              "megatron-ddp-zero1");
  refuses(
      [](Scenario& s) {
        s.parameters[0].shape = {3, 32};
      },
      producer + "with 3 rows, which 2 ranks cannot share; use a multiple of mesh.gtp");
  refuses(
      [](Scenario& s) {
        s.uses.push_back({0, Producer::fused, -1});
      },
      producer + "and another producer for \"w0\"; a distributed weight has this one alone");
  refuses([](Scenario& s) { s.parameters[0].groups = 2; },
          producer + "with the weight of several experts; give a parameter each");
  refuses([](Scenario& s) { s.tensor = 2, s.parameters[0].sequence_parallel = true; },
          producer + "with \"w0\", which has copies on other ranks; a distributed weight has none");
  refuses([](Scenario& s) { s.fp8 = Fp8Training{}; },
          producer + "with FP8 weights is not modelled; use \"fused\"");
  refuses(
      [](Scenario& s) {
        s.uses[1] = {1, Producer::distributed, -1, true};
      },
      "uses[1].grouped: true with the producer \"distributed\"; a grouped call is \"fused\" or "
      "\"unfused\"");
}

}  // namespace
}  // namespace shardcheck
