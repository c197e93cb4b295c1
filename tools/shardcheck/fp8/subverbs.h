// The questions of `shardcheck fp8`, one file each; fp8.cpp lists them and hands over.
#pragma once

#include "tools/shardcheck/session.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck::fp8 {

/// Each gets what stands behind its name. Throws Error for what the user or the machine got wrong.
ExitStatus cast(Session& session, const Arguments& arguments);
ExitStatus table(Session& session, const Arguments& arguments);
ExitStatus compare(Session& session, const Arguments& arguments);
ExitStatus infer(Session& session, const Arguments& arguments);
ExitStatus certify(Session& session, const Arguments& arguments);
ExitStatus quantize(Session& session, const Arguments& arguments);
ExitStatus verify_files(Session& session, const Arguments& arguments);

}  // namespace shardcheck::fp8
