// Rates of the CUDA backend beside the ceilings of the same run, a line a row: conversions and ops on blocks
// against the device's own copy, products against cublasLtMatmul, collectives against NCCL, and contract
// cases a second. Each call is timed as its ceiling is (backends/cuda/bare_calls.h). With one GPU the
// collectives are left out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "backends/cuda/bare_calls.h"
#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/cuda_backend.h"
#include "core/assert.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/numerics/cast_policy.h"
#include "core/plan/builder.h"
#include "properties/evidence.h"
#include "tools/bench/figure_case.h"
#include "tools/bench/gpu_rows.h"

namespace shardcheck {
namespace {

std::string teraflops(double flops, double seconds) {
  return fmt::format("{:.0f} TFLOP/s", flops / seconds * 1e-12);
}

struct Conversion {
  DType from, to;
  std::string_view policy;
};

void conversions(double copy_rate) {
  constexpr std::int64_t kNumel = kGiB;
  constexpr Conversion kAll[] = {
      {DType::f32, DType::e4m3, "nv_saturating"},  {DType::f32, DType::e5m2, "nv_saturating"},
      {DType::bf16, DType::e4m3, "nv_saturating"}, {DType::bf16, DType::e5m2, "nv_saturating"},
      {DType::f16, DType::e4m3, "nv_saturating"},  {DType::e4m3, DType::e5m2, "nv_saturating"},
      {DType::bf16, DType::e4m3, "torch_after"},   {DType::f32, DType::e4m3, "torch_after"},
      {DType::e4m3, DType::bf16, "nv_saturating"}, {DType::e4m3, DType::f32, "nv_saturating"},
  };
  for (const Conversion& each : kAll) {
    std::int8_t policy = 0;
    while (kCastPolicies[static_cast<std::size_t>(policy)].name != each.policy) ++policy;
    const auto backend = make_cuda_backend(one_gpu());
    Repeated repeated(*backend, 1);
    const View from = repeated.buffer(each.from, kNumel), to = repeated.buffer(each.to, kNumel);
    const View scale = repeated.one_scale();
    const double bytes = static_cast<double>(kNumel) * (bytes_of(each.from) + bytes_of(each.to));
    const std::string types =
        fmt::format("{} -> {}{}", name_of(each.from), name_of(each.to),
                    each.policy == "nv_saturating" ? "" : fmt::format(", policy {}", each.policy));
    const auto measure = [&](const char* what, double seconds) {
      row(fmt::format("{} {}", what, types), terabytes(bytes, seconds),
          fmt::format("{:.3f} TB/s", copy_rate * 1e-12), bytes / seconds / copy_rate);
    };
    measure("cast", repeated.seconds(Cast{policy}, {from, to}));
    const bool is_fp8 = each.from == DType::e4m3 || each.from == DType::e5m2;
    if (!is_fp8) measure("quantise", repeated.seconds(Quantize{policy}, {from, scale, to}));
    if (is_fp8 && each.to != DType::e5m2)
      measure("dequantise", repeated.seconds(Dequantize{}, {from, scale, to}));
  }
}

void digests(double copy_rate) {
  const auto backend = make_cuda_backend(one_gpu());
  Repeated repeated(*backend, 1);
  const View large = repeated.buffer(DType::bf16, 2 * kGiB);
  auto& digesting = dynamic_cast<Digesting&>(*backend);
  const double seconds = seconds_of_a_call([&] {
    for (int i = 0; i < kCallsASample; ++i) digesting.digests(repeated.plan(), repeated.ranks(), {&large, 1});
  });
  row("digest of 4 GiB of bf16, read once", terabytes(4.0 * kGiB, seconds),
      fmt::format("{:.3f} TB/s", copy_rate * 1e-12), 4.0 * kGiB / seconds / copy_rate);
  std::vector<std::byte> host(std::size_t{256} << 20);
  random_codes(DType::bf16, host);
  std::uint64_t sum = 0;
  const double on_host = seconds_of_a_call([&] {
    for (int i = 0; i < kCallsASample; ++i)
      sum += digest_of(DType::bf16, std::span(host).subspan(0, host.size() / 16));
  });
  row("digest on the host, one core",
      fmt::format("{:.1f} GB/s", static_cast<double>(host.size() / 16) / on_host * 1e-9));
  SC_ASSERT(sum != 0, "a sum of digests of random bytes");
}

void products() {
  constexpr std::int64_t kSide = 8192;
  constexpr double kFlops = 2.0 * kSide * kSide * kSide;
  const auto backend = make_cuda_backend(one_gpu());
  Repeated repeated(*backend, 1);
  const View x = repeated.buffer(DType::bf16, kSide * kSide),
             dy = repeated.buffer(DType::bf16, kSide * kSide);
  const View grad = repeated.buffer(DType::f32, kSide * kSide);
  // In turns: a product heats the chip, which slows the next, whoever calls it.
  const auto against = [&](const std::string& what, const auto& ours, const auto& bare) {
    constexpr int kTurns = 3;
    double our_best = ours(), bare_best = bare();
    for (int turn = 1; turn < kTurns; ++turn) {
      bare_best = std::min(bare_best, bare());
      our_best = std::min(our_best, ours());
    }
    row(what, teraflops(kFlops, our_best), teraflops(kFlops, bare_best), bare_best / our_best);
  };
  for (const bool accumulate : {false, true}) {
    const Gemm gemm{.tokens = kSide, .rows = kSide, .columns = kSide, .accumulate = accumulate};
    const Matmul same{.m = kSide,
                      .n = kSide,
                      .k = kSide,
                      .a = OperandLayout::plain,
                      .b = OperandLayout::transposed,
                      .accumulate = accumulate};
    against(
        fmt::format("wgrad 8192^3 bf16 -> fp32, beta {}", accumulate ? 1 : 0),
        [&] {
          return repeated.seconds(gemm, {dy, x, grad});
        },
        [&] {
          return bare_gemm_seconds(same, {DType::bf16, DType::bf16, DType::f32});
        });
  }
  const View a = repeated.buffer(DType::e4m3, kSide * kSide), b = repeated.buffer(DType::e4m3, kSide * kSide);
  const View d = repeated.buffer(DType::bf16, kSide * kSide), scale = repeated.one_scale();
  for (const bool fast : {false, true}) {
    const Matmul op{.m = kSide,
                    .n = kSide,
                    .k = kSide,
                    .scales_a = ScaleKind::tensor,
                    .scales_b = ScaleKind::tensor,
                    .fast_accumulation = fast};
    against(
        fmt::format("TN 8192^3 E4M3 -> bf16, {}", fast ? "fast" : "promoted"),
        [&] {
          return repeated.seconds(op, {a, b, scale, scale, d});
        },
        [&] {
          return bare_gemm_seconds(op, {DType::e4m3, DType::e4m3, DType::bf16});
        });
  }
  for (const std::string& line : gemm_algorithms(*backend)) fmt::print("  {}\n", line);
}

void collectives(const CudaOptions& options, std::int32_t gpus) {
  constexpr std::int64_t kBytes = kGiB, kNumel = kBytes / 4;
  const auto backend = make_cuda_backend(options);
  Repeated repeated(*backend, gpus);
  const View large = repeated.buffer(DType::f32, kNumel), other = repeated.buffer(DType::f32, kNumel);
  const View part = repeated.buffer(DType::f32, kNumel / gpus);
  struct Case {
    const char* name;
    Collective collective;
    View from, to;
    double traffic;  ///< of the bus, in sizes of the larger side (nccl-tests' convention)
  };
  const double others = static_cast<double>(gpus - 1) / gpus;
  for (const Case& each : {Case{"all-reduce fp32", Collective::all_reduce, large, other, 2 * others},
                           Case{"reduce-scatter fp32", Collective::reduce_scatter, large, part, others},
                           Case{"all-gather", Collective::all_gather, part, large, others}}) {
    const double bare = bare_collective_seconds(each.collective, kBytes);
    const double seconds =
        repeated.seconds(Communicate{each.collective, Reduction::sum, gpus}, {each.from, each.to});
    const auto rate = [&](double s) {
      return fmt::format("{:.0f} GB/s", each.traffic * static_cast<double>(kBytes) / s * 1e-9);
    };
    row(fmt::format("NCCL {} 1 GiB, {} GPUs, bus", each.name, gpus), rate(seconds), rate(bare),
        bare / seconds);
  }
}

/// Plans, judges, executes and compares with the oracle.
double cases_a_second(Strategy strategy, const CudaOptions& options, int threads) {
  const Scenario scenario = figure_case(strategy);
  constexpr int kCases = 300;
  const auto run = [&](Backend& backend, int cases) {
    for (int i = 0; i < cases; ++i) {
      const Evidence evidence = examine(backend, scenario, Poison::quiet_nan);
      SC_ASSERT(evidence.findings.empty(), "the benchmark's case breaks a clause");
    }
  };
  std::vector<std::unique_ptr<Backend>> backends;
  for (int t = 0; t < threads; ++t) {
    backends.push_back(make_cuda_backend(options));
    run(*backends.back(), 5);
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (auto& backend : backends) all.emplace_back([&] { run(*backend, kCases); });
  for (std::thread& thread : all) thread.join();
  return threads * kCases / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void contract_cases(const CudaOptions& options, std::int32_t gpus) {
  for (int s = 0; s < kStrategies; ++s) {
    const auto strategy = static_cast<Strategy>(s);
    row(fmt::format("cases, 8 ranks on {} GPU{}, {}, 1 thread", gpus, gpus == 1 ? "" : "s",
                    name_of(strategy)),
        fmt::format("{:.0f} /s", cases_a_second(strategy, options, 1)));
  }
  row(fmt::format("the same, {}, 8 threads", name_of(Strategy::fsdp_optim_grads)),
      fmt::format("{:.0f} /s", cases_a_second(Strategy::fsdp_optim_grads, options, 8)));
}

/// What the host pays for an op whose kernel takes no time.
void launch_overhead() {
  const auto backend = make_cuda_backend(one_gpu());
  Repeated repeated(*backend, 8);
  const View tiny = repeated.buffer(DType::f32, 1000);
  const double ten = repeated.seconds(Fill{1}, {tiny});
  row("an op of 8 ranks x 1,000 elements, all included", fmt::format("{:.1f} us", ten * 1e6));
}

int run() {
  if (const std::string missing = cuda_missing(); !missing.empty())
    throw Error(ErrorKind::machine_cannot, missing);
  const BackendInfo info = make_cuda_backend(CudaOptions{})->info();
  fmt::print("{}\n", info.device);
  header();
  const double copy_rate = 2.0 * 4 * kGiB / bare_copy_seconds(4 * kGiB);
  row("device copy, 4 GiB, read + write", fmt::format("{:.3f} TB/s", copy_rate * 1e-12));
  conversions(copy_rate);
  block_op_rows(copy_rate);
  digests(copy_rate);
  products();
  for (DType type : {DType::e4m3, DType::e5m2}) {
    const NamedCast cast = named_casts(*format_id_of(type))[0];
    const CastSweep sweep = sweep_fp32_casts({&cast, 1})[0];
    row(fmt::format("all 2^32 fp32 -> {}, {} differences", name_of(type), sweep.differences),
        fmt::format("{:.1f} ms", sweep.milliseconds));
  }
  launch_overhead();
  contract_cases(one_gpu(), 1);
  if (info.fold > 1) {
    collectives(CudaOptions{}, info.fold);
    contract_cases(CudaOptions{}, info.fold);
  }
  return 0;
}

}  // namespace
}  // namespace shardcheck

int main() {
  try {
    return shardcheck::run();
  } catch (const shardcheck::Error& error) {
    fmt::print(stderr, "shardcheck_gpu_bench: {}\n", error.what());
    return 3;
  }
}
