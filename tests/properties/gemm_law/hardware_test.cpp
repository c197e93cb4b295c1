// F66 on a GPU, through cuBLASLt and through our own kernels. SHARDCHECK_GEMM_CASES says how many cases.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "core/numerics/same_code.h"
#include "properties/gemm_law/execute.h"
#include "properties/gemm_law/run.h"

namespace shardcheck {
namespace {

class GemmLawGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static void expect_law(std::int64_t emulate_below, std::int64_t cases) {
    if (const char* wanted = std::getenv("SHARDCHECK_GEMM_CASES")) cases = std::atoll(wanted);
    CudaOptions options;
    options.gpus = 1;
    options.emulate_below = emulate_below;
    const auto cuda = make_cuda_backend(options);
    const GemmLawReport report = run_gemm_law(*cuda, {.seed = 1, .cases = cases});
    std::printf("%s", to_text(report).c_str());
    EXPECT_TRUE(report.findings.empty());
    for (const std::string& line : gemm_algorithms(*cuda)) std::printf("%s\n", line.c_str());
  }
};

TEST_F(GemmLawGpu, ByTheLibrary) {
  expect_law(0, 150);
}
TEST_F(GemmLawGpu, ByOurKernels) {
  expect_law(std::int64_t{1} << 62, 60);
}

/// Shapes on which the reference is slow and on which cuBLASLt has many algorithms: long K, many tiles, every
/// layout, scale and output.
std::vector<GemmCase> large_cases() {
  using enum OperandLayout;
  struct Shape {
    std::int64_t m, n, k;
  };
  struct Kind {
    DType a, b, d;
    OperandLayout layout_a, layout_b;
    ScaleKind scales_a, scales_b;
    bool fast;
  };
  constexpr ScaleKind kNone = ScaleKind::none, kTensor = ScaleKind::tensor, kOuter = ScaleKind::outer_vector,
                      kVector = ScaleKind::vector128, kBlock = ScaleKind::block128x128;
  constexpr Shape kShapes[] = {{256, 256, 32768}, {2048, 256, 2048}, {16, 16, 8192}, {1024, 2048, 1024}};
  constexpr Kind kKinds[] = {
      {DType::bf16, DType::bf16, DType::f32, transposed, plain, kNone, kNone, false},
      {DType::bf16, DType::bf16, DType::bf16, plain, transposed, kNone, kNone, false},
      {DType::bf16, DType::bf16, DType::f32, plain, plain, kNone, kNone, false},
      {DType::f16, DType::f16, DType::f16, plain, transposed, kNone, kNone, false},
      {DType::e4m3, DType::e4m3, DType::f32, transposed, plain, kTensor, kTensor, true},
      {DType::e4m3, DType::e5m2, DType::bf16, transposed, plain, kTensor, kTensor, false},
      {DType::e5m2, DType::e4m3, DType::f32, transposed, plain, kOuter, kOuter, true},
      {DType::e4m3, DType::e4m3, DType::bf16, transposed, plain, kOuter, kOuter, false},
      {DType::e4m3, DType::e5m2, DType::f32, transposed, plain, kVector, kVector, false},
      {DType::e4m3, DType::e4m3, DType::bf16, transposed, plain, kVector, kBlock, false},
      {DType::e4m3, DType::e4m3, DType::f32, transposed, plain, kBlock, kVector, false},
  };
  std::vector<GemmCase> cases;
  for (const Kind& kind : kKinds) {
    for (const Shape& shape : kShapes) {
      GemmCase c;
      c.op = {.m = shape.m,
              .n = shape.n,
              .k = shape.k,
              .a = kind.layout_a,
              .b = kind.layout_b,
              .scales_a = kind.scales_a,
              .scales_b = kind.scales_b,
              .fast_accumulation = kind.fast,
              .accumulate = shape.n % 512 == 0};
      c.a = kind.a;
      c.b = kind.b;
      c.d = kind.d;
      c.scales = ScaleFamily::any;
      c.operands = shape.k > 4096 ? OperandFamily::uniform : OperandFamily::wide_exponents;
      c.seed = cases.size();
      cases.push_back(c);
    }
  }
  return cases;
}

std::unique_ptr<Backend> cuda_with(std::int64_t emulate_below, int offer) {
  CudaOptions options;
  options.gpus = 1;
  options.emulate_below = emulate_below;
  options.library_offer = offer;
  return make_cuda_backend(options);
}

/// Not only the algorithm that cuBLASLt thinks best: all that it offers and that leave K whole. Expected is
/// what our kernel computes, which the tests above compare with the profile.
TEST_F(GemmLawGpu, ByEveryAlgorithmOfTheLibrary) {
  const auto ours = cuda_with(std::int64_t{1} << 62, 0);
  std::vector<std::unique_ptr<Backend>> by_offer;
  std::int64_t products = 0, outputs = 0, refused = 0;
  std::set<std::string> algorithms;
  for (const GemmCase& c : large_cases()) {
    const GemmInputs inputs = inputs_of(c);
    const std::vector<std::byte> expected = execute_gemm(*ours, c, inputs);
    std::size_t offer = 0;
    for (;; ++offer) {
      if (offer == by_offer.size()) by_offer.push_back(cuda_with(0, static_cast<int>(offer)));
      Backend& library = *by_offer[offer];
      const std::vector<std::byte> actual = execute_gemm(library, c, inputs);
      const std::string how = gemm_algorithms(library).back();
      const auto at = how.find("cuBLASLt algorithm");
      if (at == std::string::npos) break;
      algorithms.insert(how.substr(at));
      ++products;
      outputs += c.op.m * c.op.n;
      const std::int64_t count = differing(c.d, {expected, actual}).count;
      EXPECT_EQ(count, 0) << describe(c) << ": " << how;
    }
    refused += offer == 0 ? 1 : 0;
    std::printf("%3zu algorithms: %s\n", offer, describe(c).c_str());
  }
  std::printf("%lld products by %zu algorithms, %lld outputs; %lld shapes that cuBLASLt refuses\n",
              static_cast<long long>(products), algorithms.size(), static_cast<long long>(outputs),
              static_cast<long long>(refused));
  EXPECT_GT(algorithms.size(), 1u);
}

}  // namespace
}  // namespace shardcheck
