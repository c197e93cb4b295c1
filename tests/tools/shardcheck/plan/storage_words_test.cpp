// What ops read is what others wrote.
#include "tools/shardcheck/plan/storage_words.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

using cost::Work;

TEST(StorageWords, FollowAGradientFromItsProductToItsShard) {
  const StorageWords v1(*cost::find_system("megatron-fsdp-v1/optim_grads_params"), true);
  EXPECT_EQ(v1.writes(Work::gather), "gathered weights");
  EXPECT_EQ(v1.reads(Work::forward), "gathered weights, x");
  EXPECT_EQ(v1.writes(Work::wgrad), "lease");
  EXPECT_EQ(v1.reads(Work::reduce_scatter), "lease");
  EXPECT_EQ(v1.reads(Work::accumulate), "own lease, gradient shard");
  EXPECT_EQ(v1.reads(Work::optimizer), "gradient shard, optimizer");
  const StorageWords fsdp2(*cost::find_system("fsdp2"), false);
  EXPECT_EQ(fsdp2.writes(Work::wgrad), fsdp2.reads(Work::pack));
  EXPECT_EQ(fsdp2.writes(Work::pack), fsdp2.reads(Work::reduce_scatter));
}

TEST(StorageWords, APersistentBufferIsStagedWhereTheWireHasAnotherType) {
  const cost::System& ddp = *cost::find_system("megatron-ddp");
  EXPECT_EQ(StorageWords(ddp, true).reads(Work::all_reduce), "staging");
  EXPECT_EQ(StorageWords(ddp, false).reads(Work::all_reduce), "main_grad");
  EXPECT_EQ(StorageWords(*cost::find_system("megatron-ddp-zero1"), true).reads(Work::optimizer),
            "own main_grad, optimizer");
}

}  // namespace
}  // namespace shardcheck
