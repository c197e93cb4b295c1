// Collectives through the backend against exact sums in ascending order, with every way in which an output
// may lie.
#include "backends/cpu/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

/// Where the output of position i of a group lies.
enum class Place { apart, own_part, start_of_input, end_of_input };

struct Case {
  Communicate communicate;
  DType type;
  Place place;
  std::vector<Rank> ranks;
};

constexpr std::int64_t kPart = 29;

/// The element of the reduction over the ranks of a group, given in the order of the list.
std::uint32_t reduced(const Case& c, const std::vector<std::pair<Rank, std::uint32_t>>& addends) {
  auto sorted = addends;
  std::sort(sorted.begin(), sorted.end());
  const double factor = value_of(c.type, rounded(c.type, 1.0 / static_cast<double>(sorted.size())));
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    double addend = value_of(c.type, sorted[k].second);
    if (c.communicate.reduction == Reduction::average)
      addend = value_of(c.type, rounded(c.type, addend * factor));
    const double terms[] = {value_of(c.type, sum), addend};
    sum = k == 0 ? rounded(c.type, addend) : rounded_sum(c.type, terms);
  }
  return sum;
}

void check(const Case& c, std::mt19937_64& random) {
  const auto group = static_cast<std::size_t>(c.communicate.group);
  const bool gathers = c.communicate.collective == Collective::all_gather;
  const bool scatters = c.communicate.collective == Collective::reduce_scatter;
  const auto whole = kPart * c.communicate.group;
  // The larger operand fills a buffer; the smaller lies in another, or somewhere inside the larger.
  Rig rig("cpu", "ideal", 6);
  const View large = rig.buffer(c.type, whole), apart = rig.buffer(c.type, whole);
  const auto small_view = [&](std::int32_t position) {
    const std::int64_t part = position % c.communicate.group;
    const std::int64_t numel = gathers || scatters ? kPart : whole;
    switch (c.place) {
      case Place::apart: return View{apart.buffer, 0, numel};
      case Place::own_part: return View{large.buffer, numel == whole ? 0 : part * kPart, numel};
      case Place::start_of_input: return View{large.buffer, 0, numel};
      default: return View{large.buffer, whole - numel, numel};
    }
  };
  std::vector<Codes> inputs;
  for (std::size_t i = 0; i < c.ranks.size(); ++i) {
    const View input = gathers ? small_view(static_cast<std::int32_t>(i)) : large;
    rig.write(c.ranks[i].value, large, Codes(static_cast<std::size_t>(whole)));
    rig.write(c.ranks[i].value, apart, Codes(static_cast<std::size_t>(whole)));
    inputs.push_back(random_codes(c.type, input.numel, random, i % 3 == 0 ? random_code : random_number));
    rig.write(c.ranks[i].value, input, inputs.back());
  }
  auto& op = rig.builder.op(c.communicate, {}, Stream::reduce, c.ranks);
  if (gathers) {
    op.on_each(small_view).on(large);
  } else {
    op.on(large).on_each(small_view);
  }
  rig.run();
  for (std::size_t i = 0; i < c.ranks.size(); ++i) {
    const std::size_t first = i - i % group;
    const Codes found =
        rig.read(c.ranks[i].value, gathers ? large : small_view(static_cast<std::int32_t>(i)));
    for (std::size_t e = 0; e < found.size(); ++e) {
      std::uint32_t right = 0;
      if (gathers) {
        right = inputs[first + e / kPart][e % kPart];
      } else {
        std::vector<std::pair<Rank, std::uint32_t>> addends;
        const std::size_t at = scatters ? i % group * kPart + e : e;
        for (std::size_t k = first; k < first + group; ++k) addends.emplace_back(c.ranks[k], inputs[k][at]);
        right = reduced(c, addends);
      }
      ASSERT_TRUE(gathers ? found[e] == right : same(c.type, found[e], right))
          << name_of(c.type) << ", group " << group << ", position " << i << ", element " << e;
    }
  }
}

TEST(Collectives, MatchExactSumsInAscendingOrderWhereverTheOutputLies) {
  std::mt19937_64 random(10);
  const std::vector<std::vector<Rank>> lists = {ranks_upto(6),
                                                {Rank{1}, Rank{3}, Rank{2}, Rank{5}, Rank{0}, Rank{4}},
                                                {Rank{5}, Rank{0}, Rank{3}, Rank{1}, Rank{4}, Rank{2}}};
  for (DType type : kFloats) {
    for (Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
      for (Reduction reduction : {Reduction::sum, Reduction::average}) {
        for (std::int32_t group : {1, 2, 3, 6}) {
          for (Place place : {Place::apart, Place::own_part, Place::start_of_input, Place::end_of_input}) {
            for (const auto& ranks : lists)
              check({{collective, reduction, group}, type, place, ranks}, random);
          }
        }
      }
    }
  }
}

/// Reductions of a backend that stands for `gpus` GPUs: the addends of each GPU first.
TEST(Collectives, FollowTheFoldOfGpus) {
  std::mt19937_64 random(11);
  const std::vector<Rank> ranks = {Rank{3}, Rank{0}, Rank{5}, Rank{1}, Rank{4}, Rank{2}};
  for (DType type : kFloats) {
    for (Reduction reduction : {Reduction::sum, Reduction::average}) {
      for (std::int32_t gpus : {1, 2, 3, 6, 8}) {
        const Fold fold{6, gpus};
        Plan plan;
        plan.ranks = 6;
        PlanBuilder build(plan);
        const View view = build.whole(build.buffer("b", BufferRole::inputs, type, kPart));
        build.op(Communicate{Collective::all_reduce, reduction, 6}, {}, Stream::reduce, ranks)
            .on(view)
            .on(view);
        const auto backend = make_cpu_backend(kIdeal, gpus);
        EXPECT_EQ(backend->info().fold, gpus);
        const auto size = static_cast<std::size_t>(bytes_of(type));
        std::vector<Codes> addends;
        for (Rank rank : ranks) {
          addends.push_back(random_codes(type, kPart, random, random_number));
          std::vector<std::byte> bytes(kPart * size);
          for (std::size_t i = 0; i < kPart; ++i) std::memcpy(&bytes[i * size], &addends.back()[i], size);
          backend->write(plan, rank, view, bytes);
        }
        backend->execute(plan, OpIndex{0}, OpIndex{1});
        std::vector<std::byte> found(kPart * size);
        backend->read(plan, Rank{4}, view, found);
        const double factor = value_of(type, rounded(type, 1.0 / 6));
        for (std::size_t i = 0; i < kPart; ++i) {
          std::vector<std::uint32_t> terms;
          for (const Codes& codes : addends) {
            const double value = value_of(type, codes[i]);
            terms.push_back(reduction == Reduction::sum ? codes[i] : rounded(type, value * factor));
          }
          const auto add = [&](std::uint32_t a, std::uint32_t b) {
            const double both[] = {value_of(type, a), value_of(type, b)};
            return rounded_sum(type, both);
          };
          const auto right = folded_sum<std::uint32_t>(fold, ranks, terms, add);
          std::uint32_t code = 0;
          std::memcpy(&code, &found[i * size], size);
          ASSERT_TRUE(same(type, code, right)) << name_of(type) << ", " << gpus << " GPUs, element " << i;
        }
      }
    }
  }
}

TEST(Collectives, GatherMovesBytesOfAnyType) {
  Rig rig("cpu", "ideal", 2);
  const View part = rig.buffer(DType::e4m3, 3), whole = rig.buffer(DType::e4m3, 6);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    rig.write(rank, part, Codes(3, 0x7Fu - static_cast<std::uint32_t>(rank)));
    rig.write(rank, whole, Codes(6));
  }
  rig.op(Communicate{Collective::all_gather, Reduction::sum, 2}).on(part).on(whole);
  rig.run();
  EXPECT_EQ(rig.read(1, whole), (Codes{0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E}));
}

/// NCCL's average: bf16(1/3) is 0.333984375, so three ones average to more than one before rounding.
TEST(Collectives, AverageMultipliesFirst) {
  Rig rig("cpu", "ideal", 3);
  const View view = rig.buffer(DType::bf16, 1);
  for (std::int32_t rank = 0; rank < 3; ++rank) rig.write(rank, view, {rounded(DType::bf16, 96.0)});
  rig.op(Communicate{Collective::all_reduce, Reduction::average, 3}).on(view).on(view);
  rig.run();
  // 96 * 0.333984375 = 32.0625, rounded to 32 (ulp 0.25); 64; 96.
  EXPECT_EQ(rig.read(2, view), Codes{rounded(DType::bf16, 96.0)});
}

TEST(CollectivesDeathTest, SizesAreChecked) {
  Rig rig("cpu", "ideal", 2);
  const View view = rig.buffer(DType::f32, 3);
  for (std::int32_t rank = 0; rank < 2; ++rank) rig.write(rank, view, Codes(3));
  rig.op(Communicate{Collective::reduce_scatter, Reduction::sum, 2}).on(view).on({view.buffer, 0, 1});
  EXPECT_DEATH(rig.run(), "not 1/group");
}

}  // namespace
}  // namespace shardcheck::test
