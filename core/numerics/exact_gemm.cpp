// The `ideal` profile: the sum of products, with scales, alpha and C in it, exact, rounded once to the output
// type. Three ways, each used only where it is provably exact: doubles over sixteen outputs, 128-bit
// integers, and ExactSum. The proof is a window: terms that are multiples of 2^lowest and sums below
// 2^highest need highest - lowest bits, in every order, because every partial sum is such a multiple below
// such a limit too.
#include "core/numerics/exact_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/numerics/aligned_sum.h"
#include "core/numerics/encode.h"
#include "core/numerics/exact_sum.h"
#include "core/numerics/gemm_elements.h"

namespace shardcheck {

using namespace gemm_elements;

namespace {

constexpr int kDoubleBits = 53;
constexpr int kIntegerBits = 126;  ///< signed 128-bit, with one bit to spare
constexpr int kOperandBits = 62;   ///< signed 64-bit, with one bit to spare

/// Where the bits of some numbers lie.
struct Window {
  int lowest = 0;      ///< all are multiples of 2^lowest
  int highest = 0;     ///< all magnitudes are below 2^highest
  bool empty = true;   ///< all are zero; lowest and highest mean nothing
  bool finite = true;  ///< none is NaN or infinity

  int bits() const { return empty ? 0 : highest - lowest; }

  void include(double value) {
    if (value == 0.0) return;
    if (!std::isfinite(value)) {
      finite = false;
      return;
    }
    const std::uint64_t fraction = std::bit_cast<std::uint64_t>(value) & ((std::uint64_t{1} << 52) - 1);
    const int top = exponent_of(value);
    const int bottom = fraction == 0 ? top : top - 52 + std::countr_zero(fraction);
    lowest = empty ? bottom : std::min(lowest, bottom);
    highest = empty ? top + 1 : std::max(highest, top + 1);
    empty = false;
  }

  void include(const Window& other) {
    finite = finite && other.finite;
    if (other.empty) return;
    lowest = empty ? other.lowest : std::min(lowest, other.lowest);
    highest = empty ? other.highest : std::max(highest, other.highest);
    empty = false;
  }
};

/// The window of any sum of `count` products.
Window sum_of_products(const Window& a, const Window& b, std::int64_t count) {
  const int carries = std::bit_width(static_cast<std::uint64_t>(count));
  return {.lowest = a.lowest + b.lowest,
          .highest = a.highest + b.highest + carries,
          .empty = a.empty || b.empty,
          .finite = a.finite && b.finite};
}

/// An operand as values: [panel of `lanes` rows][k][lane], rows past the end zero; and the window of every
/// row.
struct ExactOperand {
  std::int64_t lanes;
  std::int64_t k;
  std::vector<double> values;
  std::vector<Window> windows;

  ExactOperand(const OperandView& view, std::int64_t rows, std::int64_t k_count, std::int64_t lane_count)
      : lanes(lane_count),
        k(k_count),
        values(static_cast<std::size_t>(round_up(rows, lane_count) * k_count)),
        windows(static_cast<std::size_t>(round_up(rows, lane_count))) {
    const OperandReader read(view);
    for (std::int64_t panel = 0; panel < rows; panel += lanes) {
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t row = panel; row < std::min(panel + lanes, rows); ++row) {
          const double value = read(row, i);
          values[index(row, i)] = value;
          windows[static_cast<std::size_t>(row)].include(value);
        }
      }
    }
  }

  std::size_t index(std::int64_t row, std::int64_t i) const {
    return static_cast<std::size_t>(row / lanes * lanes * k + i * lanes + row % lanes);
  }
  double at(std::int64_t row, std::int64_t i) const { return values[index(row, i)]; }
  const Window& window(std::int64_t row) const { return windows[static_cast<std::size_t>(row)]; }
};

void add_integer(ExactSum& sum, __int128 value, int exponent) {
  constexpr int kPiece = 42;
  const bool negative = value < 0;
  auto magnitude = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  for (int shift = 0; magnitude != 0; shift += kPiece, magnitude >>= kPiece) {
    const auto piece = static_cast<std::int64_t>(magnitude & ((std::uint64_t{1} << kPiece) - 1));
    sum.add(negative ? -piece : piece, exponent + shift);
  }
}

/// Products [begin, end) of one output, all finite.
ExactSum sum_products(const ExactOperand& a, std::int64_t row, const ExactOperand& b, std::int64_t column,
                      std::int64_t begin, std::int64_t end) {
  ExactSum sum;
  const Window& wa = a.window(row);
  const Window& wb = b.window(column);
  const Window products = sum_of_products(wa, wb, end - begin);
  if (products.empty) return sum;
  if (wa.bits() <= kOperandBits && wb.bits() <= kOperandBits && products.bits() <= kIntegerBits) {
    // Each operand over its own unit is an integer, so products need no alignment.
    const double a_unit = power_of_two(-wa.lowest);
    const double b_unit = power_of_two(-wb.lowest);
    __int128 integer = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      integer += static_cast<__int128>(static_cast<std::int64_t>(a.at(row, i) * a_unit)) *
                 static_cast<std::int64_t>(b.at(column, i) * b_unit);
    }
    add_integer(sum, integer, products.lowest);
    return sum;
  }
  // A product of two 24-bit significands is exact in a double.
  for (std::int64_t i = begin; i < end; ++i) sum.add(a.at(row, i) * b.at(column, i));
  return sum;
}

class ExactGemm {
 public:
  explicit ExactGemm(const GemmProblem& problem)
      : problem_(problem),
        a_(problem.a, problem.m, problem.k, kLanes),
        b_(problem.b, problem.n, problem.k, 1) {}

  void run(std::span<const std::byte> c, std::span<std::byte> d) const {
    for (std::int64_t row = 0; row < problem_.m; row += kLanes) {
      const std::int64_t end = std::min<std::int64_t>(row + kLanes, problem_.m);
      Window panel;
      for (std::int64_t i = row; i < end; ++i) panel.include(a_.window(i));
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        if (!write_in_doubles(panel, row, end, column, c, d)) {
          for (std::int64_t i = row; i < end; ++i) write(i, column, c, d);
        }
      }
    }
  }

 private:
  bool is_plain() const { return problem_.scale_mode_a == ScaleMode::none && problem_.alpha == 1.0f; }

  /// What is added to output `index`: C or +0.
  float addend(std::int64_t index, std::span<const std::byte> c) const {
    return problem_.beta == GemmBeta::one ? read_value(problem_.output, c, index) : 0.0f;
  }

  std::uint32_t rounded(const Dyadic& value) const {
    return encode(format_of(*format_id_of(problem_.output)), kIeee, value);
  }

  /// sum + addend, rounded once.
  std::uint32_t rounded_sum(ExactSum sum, float addend) const {
    sum.add(static_cast<double>(addend));
    return rounded(sum.value());
  }

  std::uint32_t rounded_sum(double sum, float addend) const {
    Window window;
    window.include(sum);
    window.include(static_cast<double>(addend));
    if (!window.finite)
      return code_of(problem_.output, static_cast<float>(sum + static_cast<double>(addend)));
    if (window.bits() < kDoubleBits) {
      const double total = sum + static_cast<double>(addend);
      const auto narrowed = static_cast<float>(total);
      if (problem_.output == DType::f32 || static_cast<double>(narrowed) == total) {
        return code_of(problem_.output, narrowed);
      }
    }
    ExactSum exact;
    exact.add(sum);
    return rounded_sum(exact, addend);
  }

  /// One column of a panel in doubles, where they are exact for all of its rows.
  bool write_in_doubles(const Window& panel, std::int64_t row, std::int64_t end, std::int64_t column,
                        std::span<const std::byte> c, std::span<std::byte> d) const {
    const Window products = sum_of_products(panel, b_.window(column), problem_.k);
    if (!is_plain() || !products.finite || products.bits() > kDoubleBits) return false;
    double sums[kLanes] = {};
    const double* a = a_.values.data() + row * problem_.k;
    const double* b = b_.values.data() + column * problem_.k;
    for (std::int64_t i = 0; i < problem_.k; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[i * kLanes + lane] * b[i];
    }
    for (std::int64_t i = row; i < end; ++i) {
      const std::int64_t index = column * problem_.m + i;
      write_code(problem_.output, d, index, finished(sums[i - row], i, column, addend(index, c)));
    }
    return true;
  }

  std::uint32_t finished(double sum, std::int64_t row, std::int64_t column, float addend) const {
    if (problem_.k == 1 && problem_.output == DType::f32) {
      // One product and one addend: fma is the one rounding. A zero is left to the rule that an exact zero is
      // +0.
      const float result =
          std::fma(static_cast<float>(a_.at(row, 0)), static_cast<float>(b_.at(column, 0)), addend);
      if (result != 0.0f) return code_of(DType::f32, result);
    }
    return rounded_sum(sum, addend);
  }

  void write(std::int64_t row, std::int64_t column, std::span<const std::byte> c,
             std::span<std::byte> d) const {
    const std::int64_t index = column * problem_.m + row;
    const float addend_value = addend(index, c);
    const bool finite = a_.window(row).finite && b_.window(column).finite &&
                        factors_are_finite(row, column) && std::isfinite(addend_value);
    const std::uint32_t code = finite ? rounded_sum(scaled_sum(row, column), addend_value)
                                      : code_of(problem_.output, class_of(row, column, addend_value));
    write_code(problem_.output, d, index, code);
  }

  float scale_a(std::int64_t row, std::int64_t k_block) const {
    return scale_of(problem_.scale_mode_a, problem_.scales_a, problem_.m, problem_.k, row, k_block);
  }
  float scale_b(std::int64_t column, std::int64_t k_block) const {
    return scale_of(problem_.scale_mode_b, problem_.scales_b, problem_.n, problem_.k, column, k_block);
  }

  /// Products between two changes of a scale.
  std::int64_t scale_span() const {
    return is_block_mode(problem_.scale_mode_a) ? kScaleBlock : std::max<std::int64_t>(problem_.k, 1);
  }

  bool factors_are_finite(std::int64_t row, std::int64_t column) const {
    for (std::int64_t i = 0; i < problem_.k; i += scale_span()) {
      const std::int64_t block = i / kScaleBlock;
      if (!std::isfinite(scale_a(row, block)) || !std::isfinite(scale_b(column, block))) return false;
    }
    return std::isfinite(problem_.alpha);
  }

  ExactSum scaled_sum(std::int64_t row, std::int64_t column) const {
    ExactSum total;
    for (std::int64_t i = 0; i < problem_.k; i += scale_span()) {
      ExactSum part = sum_products(a_, row, b_, column, i, std::min(i + scale_span(), problem_.k));
      if (problem_.scale_mode_a != ScaleMode::none) {
        part.multiply(scale_a(row, i / kScaleBlock));
        part.multiply(scale_b(column, i / kScaleBlock));
      }
      total.add(part);
    }
    if (problem_.alpha != 1.0f) total.multiply(problem_.alpha);
    return total;
  }

  /// NaN or an infinity, where something on the way is one: double arithmetic keeps the class, and finite
  /// terms cannot overflow a double before that.
  float class_of(std::int64_t row, std::int64_t column, float addend_value) const {
    double total = 0;
    for (std::int64_t i = 0; i < problem_.k; ++i) {
      const std::int64_t block = i / scale_span() * scale_span() / kScaleBlock;
      total += a_.at(row, i) * b_.at(column, i) * scale_a(row, block) * scale_b(column, block);
    }
    return static_cast<float>(total * static_cast<double>(problem_.alpha) +
                              static_cast<double>(addend_value));
  }

  const GemmProblem& problem_;
  ExactOperand a_;
  ExactOperand b_;
};

}  // namespace

void exact_gemm(const GemmProblem& problem, std::span<const std::byte> c, std::span<std::byte> d) {
  ExactGemm(problem).run(c, d);
}

}  // namespace shardcheck
