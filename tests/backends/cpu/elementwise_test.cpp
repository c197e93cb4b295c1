// Elementwise ops through the backend, on random views and ranks, element by element against exact
// arithmetic.
#include "backends/cpu/elementwise.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

constexpr std::int32_t kRanks = 3;

/// A source and a destination of 83 elements inside larger buffers, with random content on every rank.
struct Two {
  Rig rig{"cpu", "ideal", kRanks};
  DType from, to;
  View source, destination;
  std::vector<Codes> before_source, before_buffer;
  std::int64_t offset;

  Two(DType from_type, DType to_type, std::mt19937_64& random) : from(from_type), to(to_type) {
    offset = static_cast<std::int64_t>(random() % 17);
    source = rig.buffer(from, 83 + offset);
    source = {source.buffer, offset, 83};
    destination = {rig.buffer(to, 120).buffer, 5, 83};
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      before_source.push_back(random_codes(from, 83, random, random_code));
      before_buffer.push_back(random_codes(to, 120, random, random_code));
      rig.write(rank, source, before_source.back());
      rig.write(rank, {destination.buffer, 0, 120}, before_buffer.back());
    }
  }

  /// Compares every element with expected(source code, old destination code); outside the view nothing may
  /// change.
  template <class Expected>
  void expect(Expected expected) {
    rig.run();
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Codes after = rig.read(rank, {destination.buffer, 0, 120});
      for (std::size_t i = 0; i < after.size(); ++i) {
        const std::uint32_t old = before_buffer[r][i];
        const bool inside = i >= 5 && i < 88;
        const std::uint32_t right = inside ? expected(before_source[r][i - 5], old) : old;
        ASSERT_TRUE(inside ? same(to, after[i], right) : after[i] == right)
            << name_of(from) << " to " << name_of(to) << ", element " << i << " is " << after[i] << ", not "
            << right;
      }
    }
  }
};

template <class Body>
void for_all_pairs(Body body) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    for (DType from : kFloats) {
      for (DType to : kFloats) body(from, to, random);
    }
  }
}

TEST(Elementwise, AddRoundsOnce) {
  for_all_pairs([](DType from, DType to, std::mt19937_64& random) {
    Two two(from, to, random);
    two.rig.op(Add{}).on(two.source).on(two.destination);
    two.expect([&](std::uint32_t addend, std::uint32_t old) {
      const double terms[] = {value_of(from, addend), value_of(to, old)};
      return rounded_sum(to, terms);
    });
  });
}

TEST(Elementwise, CopyRoundsToNearestEven) {
  for_all_pairs([](DType from, DType to, std::mt19937_64& random) {
    Two two(from, to, random);
    two.rig.op(Copy{}).on(two.source).on(two.destination);
    two.expect([&](std::uint32_t source, std::uint32_t) {
      return from == to ? source : rounded(to, value_of(from, source));
    });
  });
}

TEST(Elementwise, ScaleRoundsOnce) {
  for_all_pairs([](DType from, DType to, std::mt19937_64& random) {
    Two two(from, to, random);
    const auto factor = static_cast<float>(value_of(DType::f32, random_number(DType::f32, random)));
    two.rig.op(Scale{factor}).on(two.destination);
    two.expect([&](std::uint32_t, std::uint32_t old) { return rounded(to, value_of(to, old) * factor); });
  });
}

TEST(Elementwise, SgdRoundsProductAndDifference) {
  std::mt19937_64 random(6);
  for (DType from : kFloats) {
    for (int round = 0; round < 20; ++round) {
      Two two(from, DType::f32, random);
      const auto rate = static_cast<float>(value_of(DType::f32, random_number(DType::f32, random)));
      two.rig.op(SgdStep{rate}).on(two.source).on(two.destination);
      two.expect([&](std::uint32_t gradient, std::uint32_t old) {
        const std::uint32_t product = rounded(DType::f32, value_of(from, gradient) * rate);
        const double terms[] = {value_of(DType::f32, old), -value_of(DType::f32, product)};
        return rounded_sum(DType::f32, terms);
      });
    }
  }
}

TEST(Elementwise, FillRoundsItsValue) {
  std::mt19937_64 random(7);
  for (DType type : kFloats) {
    for (float value : {0.0f, -0.0f, 1.0f, 1.00390625f, 3.1415927f, -1e-40f, 1e38f, 65520.0f}) {
      Two two(type, type, random);
      two.rig.op(Fill{value}).on(two.destination);
      two.expect([&](std::uint32_t, std::uint32_t) { return rounded(type, value); });
    }
  }
  for (DType type : {DType::e4m3, DType::e5m2, DType::u8}) {
    Rig rig("cpu", "ideal", 1);
    const View view = rig.buffer(type, 9);
    rig.write(0, view, Codes(9, 7));
    rig.op(Fill{0}).on({view.buffer, 2, 5});
    rig.run();
    EXPECT_EQ(rig.read(0, view), (Codes{7, 7, 0, 0, 0, 0, 0, 7, 7}));
  }
}

/// K04: a running buffer that is added to itself doubles.
TEST(Elementwise, ABufferCanBeAddedToItself) {
  std::mt19937_64 random(8);
  for (DType type : kFloats) {
    Rig rig("cpu", "ideal", 1);
    const View view = rig.buffer(type, 100);
    const Codes before = random_codes(type, 100, random, random_code);
    rig.write(0, view, before);
    rig.op(Add{}).on(view).on(view);
    rig.run();
    const Codes after = rig.read(0, view);
    for (std::size_t i = 0; i < after.size(); ++i) {
      ASSERT_TRUE(same(type, after[i], rounded(type, 2 * value_of(type, before[i]))));
    }
  }
}

}  // namespace
}  // namespace shardcheck::test
