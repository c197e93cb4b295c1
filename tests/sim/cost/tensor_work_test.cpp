// What tensors take: products by their flops, tables and vectors by their bytes, and streams that overlap.
#include "sim/cost/tensor_work.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/planned_job.h"

namespace shardcheck::cost {
namespace {

/// Round numbers: bytes take nothing to speak of.
constexpr Gpu kGpu{.launch = 0, .bytes_per_second = 1e30, .flops_16bit = 2, .flops_8bit = 4};

StepJob job_of(std::string_view system) {
  return {.system = find_system(system), .tokens = 10, .expert_tokens = 3, .gpu = kGpu};
}

TEST(TensorWork, AProductHasARowAToken) {
  StepJob job = job_of("megatron-ddp");
  const layout::Parameter matrix{.name = "w", .shape = {4, 5}};
  EXPECT_EQ(tensor_work(job, matrix, Work::forward).seconds, 10 * 4 * 5);
  EXPECT_EQ(tensor_work(job, matrix, Work::wgrad).seconds, 10 * 4 * 5);
  job.is_8bit = true;
  EXPECT_EQ(tensor_work(job, matrix, Work::dgrad).seconds, 10 * 4 * 5 / 2);
  const layout::Parameter experts{.name = "experts.up", .shape = {6, 4, 5}, .expert = true};
  EXPECT_EQ(tensor_work(job, experts, Work::forward).seconds, 3 * 6 * 4 * 5 / 2);
}

TEST(TensorWork, BytesAreThoseOfTheDestination) {
  const layout::Parameter matrix{.name = "w", .shape = {4, 5}};
  const double activations = 10 * (4 + 5) * 2;
  EXPECT_EQ(tensor_work(job_of("megatron-ddp"), matrix, Work::wgrad).touched, activations + 20 * 2 * 4);
  EXPECT_EQ(tensor_work(job_of("megatron-fsdp-v1/optim_grads"), matrix, Work::wgrad).touched,
            activations + 20 * 2);
  EXPECT_EQ(tensor_work(job_of("megatron-ddp"), matrix, Work::forward).touched, activations + 20 * 2);
}

TEST(TensorWork, TablesAreLookedUp) {
  const layout::Parameter table{.name = "model.embed_tokens.weight", .shape = {1000, 5}};
  EXPECT_EQ(tensor_work(job_of("fsdp2"), table, Work::forward).touched, 2 * 10 * 5 * 2);
  EXPECT_FALSE(tensor_work(job_of("fsdp2"), table, Work::dgrad).is_needed);
}

TEST(TensorWork, StreamsRunSideBySideAndOneAfterAnother) {
  PlannedJob planned("megatron-fsdp-v1/optim_grads_params", layout::mesh_of(64));
  planned.job().microbatches = 2;
  double end[kLanes] = {}, sum = 0;
  const StepFigures figures = plan_step(planned.job(), [&](const StepOp& op) {
    double& free = end[static_cast<std::size_t>(op.lane)];
    EXPECT_GE(op.begin, free) << "a stream is in order";
    free = op.begin + op.seconds;
    sum += op.seconds;
  });
  EXPECT_EQ(figures.serial, sum);
  EXPECT_EQ(figures.seconds, std::max(end[0], end[1]));
  EXPECT_LT(figures.seconds, figures.serial);
  EXPECT_GE(figures.seconds, std::max(figures.busy[0], figures.busy[1]));
}

}  // namespace
}  // namespace shardcheck::cost
