// All foci, for tests that draw from each.
#pragma once

#include "properties/property.h"

namespace shardcheck {

inline constexpr Focus kFoci[] = {
    Focus::any,         Focus::leases,     Focus::persistent, Focus::silence,       Focus::empty_microbatches,
    Focus::frozen,      Focus::mixed_uses, Focus::today,      Focus::repeated_uses, Focus::group_of_one,
    Focus::scaling,     Focus::overlap,    Focus::fp8,        Focus::pipeline,      Focus::recompute,
    Focus::interrupted, Focus::owners,     Focus::sync};

}  // namespace shardcheck
