#include "tools/shardcheck/fp8/cast_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/on_threads.h"
#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "core/numerics/profile.h"
#include "core/plan/builder.h"
#include "properties/cast_law/digest.h"

namespace shardcheck::fp8 {
namespace {

/// Types that a Cast op takes; the other formats are no types of a buffer.
std::optional<DType> type_of(FormatId format) {
  if (format == FormatId::e4m3) return DType::e4m3;
  if (format == FormatId::e5m2) return DType::e5m2;
  return std::nullopt;
}

std::int8_t index_of(const NamedCast& cast) {
  const auto found = std::ranges::find(kCastPolicies, cast.name, &NamedCastPolicy::name);
  return static_cast<std::int8_t>(found - kCastPolicies.begin());
}

/// All numbers of a 16-bit type through a Cast op of the backend.
std::vector<std::uint16_t> codes_of_op(Backend& backend, const NamedCast& cast, DType source_type) {
  constexpr std::int64_t kAll = std::int64_t{1} << 16;
  Plan plan;
  PlanBuilder build(plan);
  const View source = build.whole(build.buffer("source", BufferRole::inputs, source_type, kAll));
  const View target = build.whole(build.buffer("codes", BufferRole::inputs, *type_of(cast.format), kAll));
  const Rank rank{0};
  build.op(Cast{index_of(cast)}, {}, Stream::compute, std::span(&rank, 1)).on(source).on(target);
  std::vector<std::uint16_t> inputs(kAll);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint8_t> codes(kAll);
  backend.write(plan, rank, source, std::as_bytes(std::span(inputs)));
  backend.write(plan, rank, target, std::as_bytes(std::span(codes)));
  backend.execute(plan, OpIndex{0}, OpIndex{1});
  backend.read(plan, rank, target, std::as_writable_bytes(std::span(codes)));
  return {codes.begin(), codes.end()};
}

Certification certify_on_cpu(std::span<const NamedCast> casts, const SweepOptions& options) {
  std::vector<SweptCast> swept;
  for (const NamedCast& cast : casts) swept.emplace_back(cast);
  const auto wide = sweep_fp32(swept, options);
  const auto backend = make_cpu_backend(kIdeal);
  Certification found;
  for (std::size_t i = 0; i < casts.size(); ++i) {
    const NamedCast& cast = casts[i];
    const bool has_op = type_of(cast.format).has_value() && options.path == CastPath::fast;
    const CastCertificate narrow = certify_16_bit(cast, [&](DType source) {
      return has_op ? codes_of_op(*backend, cast, source) : codes_of_16_bit(cast, options.path, source);
    });
    const std::uint64_t defined = cast_digest(swept[i].definition, {options.begin, options.end});
    found.certified.push_back({cast, wide[i], narrow, defined});
  }
  return found;
}

Certification by_cpu(std::span<const NamedCast> casts, SweepOptions options) {
  options.path = CastPath::fast;
  return certify_on_cpu(casts, options);
}

Certification by_reference(std::span<const NamedCast> casts, SweepOptions options) {
  options.path = CastPath::readable;
  return certify_on_cpu(casts, options);
}

CastCertificate certificate_of(const CastSweep& sweep) {
  return {.inputs = sweep.inputs,
          .differences = sweep.differences,
          .input = sweep.input,
          .expected = sweep.by_rule,
          .actual = sweep.by_machine,
          .digest = sweep.digest};
}

/// The GPU's codes of 16-bit numbers: by Cast ops where a buffer can hold them.
class CodesOf16 {
 public:
  explicit CodesOf16(std::span<const NamedCast> casts)
      : casts_(casts),
        of_bf16_(codes_of_16_bit_on_gpu(casts, DType::bf16)),
        of_f16_(codes_of_16_bit_on_gpu(casts, DType::f16)) {
    CudaOptions one;
    one.gpus = 1;
    const auto backend = make_cuda_backend(one);
    for (std::size_t i = 0; i < casts.size(); ++i) {
      if (!type_of(casts[i].format)) continue;
      of_bf16_[i] = codes_of_op(*backend, casts[i], DType::bf16);
      of_f16_[i] = codes_of_op(*backend, casts[i], DType::f16);
    }
  }
  CastCertificate certify(std::size_t i) const {
    return certify_16_bit(casts_[i],
                          [&](DType source) { return source == DType::bf16 ? of_bf16_[i] : of_f16_[i]; });
  }

 private:
  std::span<const NamedCast> casts_;
  std::vector<std::vector<std::uint16_t>> of_bf16_, of_f16_;
};

/// The host judges 16-bit numbers and finds the definitions' digests while the GPU sweeps.
Certification by_cuda(std::span<const NamedCast> casts, SweepOptions options) {
  if (const std::string missing = cuda_missing(); !missing.empty())
    throw Error(ErrorKind::machine_cannot, "--backend cuda: " + missing);
  if (options.end != std::uint64_t{1} << 32)
    throw bad_input("--inputs", "the GPU sweeps all 2^32 inputs or none");
  const CodesOf16 codes(casts);
  auto sweeping = std::async(std::launch::async, [casts] { return sweep_fp32_casts(casts); });
  Certification found;
  for (const NamedCast& cast : casts) found.certified.push_back({.cast = cast});
  cpu::on_threads({std::ssize(casts), cpu::kWorthThreads}, [&](std::int64_t i) {
    Certified& each = found.certified[static_cast<std::size_t>(i)];
    each.narrow = codes.certify(static_cast<std::size_t>(i));
    each.defined = cast_digest(NearestCode(each.cast));
  });
  const std::vector<CastSweep> sweeps = sweeping.get();
  for (std::size_t i = 0; i < casts.size(); ++i) found.certified[i].wide = certificate_of(sweeps[i]);
  return found;
}

}  // namespace

const std::vector<CastMachine>& cast_machines() {
  static const std::vector<CastMachine> machines = {{"cpu", "the CPU's casts, as Cast ops make them", by_cpu},
                                                    {"reference", "the readable encoder", by_reference},
                                                    {"cuda", "the GPU's casts", by_cuda}};
  return machines;
}

}  // namespace shardcheck::fp8
