#include "backends/registry.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "backends/cluster/cluster_backend.h"
#include "backends/cluster/gpu_shares.h"
#include "backends/cluster/joint_backend.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/faulty/faults.h"
#include "backends/faulty/faulty.h"
#include "backends/shadow/shadow_backend.h"
#include "core/error.h"
#include "core/numerics/profile.h"

namespace shardcheck {
namespace {

constexpr std::string_view kFaultyPrefix = "faulty:";
constexpr std::string_view kShadowPrefix = "shadow:";

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  return list;
}

const ArithmeticProfile& profile_of(const BackendOptions& options) {
  if (const ArithmeticProfile* profile = profile_named(options.profile)) return *profile;
  std::vector<std::string> known;
  for (const ArithmeticProfile* profile : kProfiles) known.emplace_back(profile->name);
  throw bad_input("profile", fmt::format("\"{}\" is not an arithmetic profile; known are {}", options.profile,
                                         quoted_list(known)));
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const NumericFault& fault : list_numeric_faults()) names.emplace_back(fault.name);
  return names;
}

const NumericFault& fault_named(std::string_view name) {
  const NumericFault* fault = find_numeric_fault(name);
  if (fault != nullptr) return *fault;
  throw bad_input("backend", fmt::format("\"{}\" is not a numeric fault; known are {}", name,
                                         quoted_list(fault_names())));
}

struct PairSpec {
  std::string reference, candidate;
};

/// `pair` is what follows "shadow:".
PairSpec pair_in(const std::string& pair) {
  const auto comma = pair.find(',');
  if (comma == std::string::npos) {
    throw bad_input("backend", fmt::format("\"shadow:{}\" names one backend where two belong: "
                                           "\"shadow:REFERENCE,CANDIDATE\"",
                                           pair));
  }
  return {pair.substr(0, comma), pair.substr(comma + 1)};
}

std::unique_ptr<Backend> make_shadow(const PairSpec& pair, const BackendOptions& options) {
  // The CPU adds in the order of the GPUs that the other side has.
  const auto& [reference, candidate] = pair;
  BackendOptions folded = options;
  ShadowPair both;
  if (reference != "cpu") both.reference = make_backend(reference, options);
  if (both.reference) folded.gpus = both.reference->info().fold;
  both.candidate = make_backend(candidate, folded);
  folded.gpus = both.candidate->info().fold;
  if (!both.reference) both.reference = make_backend(reference, folded);
  return make_shadow_backend(std::move(both), {.after = AfterDifference::stop});
}

std::unique_ptr<Joint> make_joint(const std::string& spec, const BackendOptions& options,
                                  Transport& transport) {
  std::unique_ptr<Backend> part = spec == "cuda"
                                      ? make_cuda_part(options, transport)
                                      : make_cluster_backend(make_backend(spec, options), transport);
  return make_joint_backend(std::move(part), transport);
}

}  // namespace

std::vector<BackendEntry> list_backends() {
  const std::string no_cuda = cuda_missing();
  return {
      {"cpu", "every virtual rank in this process, deterministic; the reference", true, ""},
      {"cuda", "virtual ranks on the NVIDIA GPUs of this host: CUDA kernels, cuBLASLt, NCCL", no_cuda.empty(),
       no_cuda},
      {"faulty:FAULT", fmt::format("cpu with one numeric fault: {}", fmt::join(fault_names(), ", ")), true,
       ""},
      {"shadow:REFERENCE,CANDIDATE", "both execute every op and what each wrote is compared", true, ""},
  };
}

std::unique_ptr<Backend> make_backend(const std::string& spec, const BackendOptions& options) {
  if (spec == "cpu") return make_cpu_backend(profile_of(options), options.gpus);
  if (spec == "cuda") return make_cuda_backend(options);
  if (spec.starts_with(kFaultyPrefix)) {
    const NumericFault& fault = fault_named(std::string_view(spec).substr(kFaultyPrefix.size()));
    return make_faulty_backend(make_cpu_backend(profile_of(options)), fault);
  }
  if (spec.starts_with(kShadowPrefix))
    return make_shadow(pair_in(spec.substr(kShadowPrefix.size())), options);
  std::vector<std::string> known;
  for (const BackendEntry& entry : list_backends()) known.push_back(entry.name);
  throw bad_input("backend", fmt::format("\"{}\" is not a backend; known are {}", spec, quoted_list(known)));
}

std::unique_ptr<Backend> make_backend(const std::string& spec, const BackendOptions& options,
                                      Transport& transport) {
  if (!spec.starts_with(kShadowPrefix)) return make_joint(spec, options, transport);
  const PairSpec pair = pair_in(spec.substr(kShadowPrefix.size()));
  if (pair.reference == "cuda")
    throw bad_input("backend",
                    "several processes compare with a reference that each computes for itself: "
                    "cpu or faulty:FAULT, not cuda");
  BackendOptions folded = options;
  ShadowPair both{.candidate = make_whole_backend(make_joint(pair.candidate, options, transport))};
  folded.gpus = both.candidate->info().fold;
  both.reference = make_backend(pair.reference, folded);
  return make_shadow_backend(std::move(both), {.after = AfterDifference::stop});
}

}  // namespace shardcheck
