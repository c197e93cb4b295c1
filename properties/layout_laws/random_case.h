// Random cases: one number gives one case, on every machine. The weights follow the advice of shard-layouts 4
// and 6: dim 0 smaller than the world, empty and scalar tensors, primes, one element, sizes that equal a
// bucket, whole multiples, and offsets beyond 2^31 and 2^40, for which nothing is allocated. Next: judge.h.
#pragma once

#include <cstdint>

#include "properties/layout_laws/judge.h"

namespace shardcheck::laws {

/// Case number `number` of the stream of `seed`.
Case random_case(std::uint64_t seed, std::uint64_t number);

/// A random model of at most 12 tensors that suits the layout about as often as not to be refused.
Asked random_question(std::uint64_t seed, std::uint64_t number, const layout::NamedLayout& layout);

}  // namespace shardcheck::laws
