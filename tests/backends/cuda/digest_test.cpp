// Digests that the GPU computes where the bytes lie are those of core/digest.h: every type, odd sizes and
// offsets, NaN of every kind, many ranks at once.
#include "core/digest.h"

#include <random>

#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using DigestOnGpu = OnGpu;
constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::u8};

/// Uniform bits: NaN of every payload are among the 16-bit and 8-bit codes; one in four fp32 numbers is made
/// one.
std::vector<std::byte> random_bytes(DType type, std::int64_t numel, std::mt19937_64& random) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(numel * bytes_of(type)));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  if (type == DType::f32) {
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
      bytes[at + 3] |= std::byte{0x7F};
      bytes[at + 2] |= std::byte{0x80};
    }
  }
  return bytes;
}

struct Written {
  Plan plan;
  std::vector<Rank> ranks;
  std::vector<View> views;
  std::vector<std::uint64_t> expected;
};

/// Ranks with a buffer each of every type, of which random parts are to be digested.
Written written_to(Backend& backend, std::int64_t numel, std::mt19937_64& random) {
  Written all;
  all.plan.ranks = 70;  // more than one launch takes
  PlanBuilder build(all.plan);
  for (DType type : kTypes) build.buffer(std::string(name_of(type)), BufferRole::inputs, type, numel);
  for (std::size_t id = 0; id < std::size(kTypes); ++id) {
    const View whole = build.whole(BufferId{static_cast<std::int32_t>(id)});
    for (Rank rank : all_ranks(all.plan)) {
      const auto bytes = random_bytes(kTypes[id], numel, random);
      backend.write(all.plan, rank, whole, bytes);
      View part = whole;
      part.offset = static_cast<std::int64_t>(random() % 19);
      part.numel = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(numel - part.offset + 1));
      const auto size = static_cast<std::size_t>(bytes_of(kTypes[id]));
      all.ranks.push_back(rank);
      all.views.push_back(part);
      all.expected.push_back(
          digest_of(kTypes[id], std::span(bytes).subspan(static_cast<std::size_t>(part.offset) * size,
                                                         static_cast<std::size_t>(part.numel) * size)));
    }
  }
  return all;
}

TEST_F(DigestOnGpu, IsTheDefinition) {
  const auto cuda = make_cuda_backend(CudaOptions{});
  auto* const digesting = dynamic_cast<Digesting*>(cuda.get());
  ASSERT_NE(digesting, nullptr);
  std::mt19937_64 random(41);
  for (std::int64_t numel : {19, 64, 1000, 5001, 70'003}) {
    const Written all = written_to(*cuda, numel, random);
    EXPECT_EQ(digesting->digests(all.plan, all.ranks, all.views), all.expected) << numel;
  }
}

/// One launch with more blocks than any loop of theirs is long, on one rank.
TEST_F(DigestOnGpu, OfALargeRangeIsTheDefinition) {
  const auto cuda = make_cuda_backend(CudaOptions{});
  auto* const digesting = dynamic_cast<Digesting*>(cuda.get());
  ASSERT_NE(digesting, nullptr);
  std::mt19937_64 random(42);
  Plan plan;
  plan.ranks = 1;
  PlanBuilder build(plan);
  const std::int64_t numel = (std::int64_t{1} << 25) + 3;
  const BufferId id = build.buffer("large", BufferRole::inputs, DType::bf16, numel);
  const auto bytes = random_bytes(DType::bf16, numel, random);
  cuda->write(plan, Rank{0}, build.whole(id), bytes);
  const Rank rank{0};
  const View view = build.whole(id);
  EXPECT_EQ(digesting->digests(plan, {&rank, 1}, {&view, 1}).at(0), digest_of(DType::bf16, bytes));
}

}  // namespace
}  // namespace shardcheck
