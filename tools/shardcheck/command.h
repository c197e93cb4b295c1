// The command `shardcheck`: dispatches to a verb and turns every error into one sentence and an exit status.
// main.cpp and the tests call it. Next: verbs.h, session.h.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace shardcheck {

/// Runs the command with the arguments behind its name and returns its exit status (session.h).
int run_command(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace shardcheck
