// The other half of `shardcheck plan`: --model. tools/shardcheck/plan.cpp, which has the half about
// scenarios, calls it. Next: model_plan.h.
#pragma once

#include "tools/shardcheck/verbs.h"

namespace shardcheck {

/// Throws Error for what the user or the machine got wrong.
ExitStatus plan_model_verb(Session& session, const Arguments& arguments);

}  // namespace shardcheck
