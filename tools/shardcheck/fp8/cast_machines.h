// What `shardcheck fp8 certify` can ask for certificates: the CPU's casts, the readable encoder, a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "properties/cast_law/certificate.h"

namespace shardcheck::fp8 {

/// A cast over all fp32 numbers and over all bf16 and fp16 numbers.
struct Certified {
  NamedCast cast;
  CastCertificate wide, narrow;
  std::uint64_t defined;  ///< the definition's digest of the fp32 inputs

  /// A GPU counts differences from its own copy of the rule: the digest judges that copy too.
  bool holds() const { return wide.differences == 0 && narrow.differences == 0 && wide.digest == defined; }
};

struct Certification {
  std::vector<Certified> certified;
};

struct CastMachine {
  std::string name;
  std::string sentence;
  /// The path of the options is the machine's own choice. Throws Error(machine_cannot).
  Certification (*certify)(std::span<const NamedCast> casts, SweepOptions options);
};

const std::vector<CastMachine>& cast_machines();

}  // namespace shardcheck::fp8
