// Session: where a verb writes, and how the command ends. Every verb (verbs.h) gets one. Next: command.h.
#pragma once

#include <iosfwd>

namespace shardcheck {

/// The exit statuses of the command. A verb returns one; an Error becomes one in command.cpp.
enum class ExitStatus : int {
  held = 0,
  broken = 1,          ///< a clause was broken, recorded data disagreed, a fault of the zoo escaped
  bad_input = 2,       ///< the input or the command line is wrong
  machine_cannot = 3,  ///< no GPU, out of memory, a folder cannot be written
  gave_up = 4,         ///< required coverage was not reached
  mistake = 70,        ///< our own
  interrupted = 130,   ///< Ctrl-C before anything broken was found
};

class Processes;

struct Session {
  std::ostream& out;     ///< findings, tables, JSON
  std::ostream& err;     ///< progress, and sentences about what went wrong
  Processes& processes;  ///< of the launch; process 0 alone has streams that anybody reads
};

}  // namespace shardcheck
