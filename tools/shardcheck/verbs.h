// The verbs of the command, one file each. command.cpp lists them in a table and turns errors into exit
// statuses.
#pragma once

#include <string>
#include <vector>

#include "tools/shardcheck/session.h"

namespace shardcheck {

using Arguments = std::vector<std::string>;

/// Each gets what stands behind its name on the command line. Throws Error for what the user or the machine
/// got wrong.
ExitStatus check_verb(Session& session, const Arguments& arguments);
ExitStatus replay_verb(Session& session, const Arguments& arguments);
ExitStatus explain_verb(Session& session, const Arguments& arguments);
ExitStatus plan_verb(Session& session, const Arguments& arguments);
ExitStatus zoo_verb(Session& session, const Arguments& arguments);
ExitStatus sweep_verb(Session& session, const Arguments& arguments);
ExitStatus redesigns_verb(Session& session, const Arguments& arguments);
ExitStatus conform_verb(Session& session, const Arguments& arguments);
ExitStatus record_verb(Session& session, const Arguments& arguments);
ExitStatus fingerprint_verb(Session& session, const Arguments& arguments);
ExitStatus fp8_verb(Session& session, const Arguments& arguments);
ExitStatus layout_verb(Session& session, const Arguments& arguments);
ExitStatus audit_verb(Session& session, const Arguments& arguments);
ExitStatus list_verb(Session& session, const Arguments& arguments);
ExitStatus doctor_verb(Session& session, const Arguments& arguments);

}  // namespace shardcheck
