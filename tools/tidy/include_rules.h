// Rules that read include lines: which room may know which, and which library is met in which folder.
#pragma once

#include "tools/tidy/rules.h"

namespace shardcheck::tidy {

Offences forbidden_arrows(const Tree& tree);
Offences relative_includes(const Tree& tree);
Offences eigen_outside_cpu(const Tree& tree);
Offences cuda_outside_cuda(const Tree& tree);
Offences rapidcheck_outside_properties(const Tree& tree);
Offences json_in_core_headers(const Tree& tree);

}  // namespace shardcheck::tidy
