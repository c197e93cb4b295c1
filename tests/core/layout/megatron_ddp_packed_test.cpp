// Golden table 3.2(g): the NVFP4 index space.
#include "core/layout/megatron_ddp_packed.h"

#include <gtest/gtest.h>

#include "core/layout/megatron_ddp.h"
#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(MegatronDdpPacked, G_HalfTheElementsInAnotherSpace) {
  auto parameters = of_shapes({{64, 64}, {10, 10}});
  parameters[0].quantized = Quantized::nvfp4;
  parameters[1].quantized = Quantized::fp8;
  const MegatronDdpOptions options{.world = 2};
  const Buffer buffer = megatron_ddp(parameters, options).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{128, 0}));
  EXPECT_EQ(buffer.size, 4224);
  const PackedSpace packed = pack_nvfp4(buffer, parameters, options);
  EXPECT_EQ(packed.buckets, (std::vector<Range>{{0, 2176}}));
  ASSERT_EQ(packed.slots.size(), 2u);
  EXPECT_EQ(packed.slots[0], (Slot{ParamId{1}, 0, 100, 0, 100}));
  EXPECT_EQ(packed.slots[1], (Slot{ParamId{0}, 128, 2176, 0, 2048}));
}

Reason reason_of(std::vector<std::int64_t> shape) {
  auto parameters = of_shapes({std::move(shape)});
  parameters[0].quantized = Quantized::nvfp4;
  try {
    pack_nvfp4(megatron_ddp(parameters, {}).buffers.at(0), parameters, {});
  } catch (const Rejected& rejected) {
    return rejected.reason();
  }
  return Reason::zero_row_size;
}

TEST(MegatronDdpPacked, Rejections) {
  EXPECT_EQ(reason_of({3, 9}), Reason::odd_numel);
  EXPECT_EQ(reason_of({0, 2}), Reason::bucket_count);
}

}  // namespace
}  // namespace shardcheck::layout
