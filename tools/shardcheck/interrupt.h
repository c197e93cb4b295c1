// Interrupt: Ctrl-C asks a running verb to finish early and to say what it found so far. The second one ends
// the process at once. The flag is the only mutable state of the command that is global: a signal handler can
// reach nothing else.
#pragma once

#include <atomic>

namespace shardcheck {

/// True after an interrupt. Searches (properties/runner.h) look at it between cases; tests set it.
std::atomic<bool>& interrupt_flag();

/// From now on SIGINT and SIGTERM set the flag, once; the next one has its usual effect.
void listen_for_interrupts();

}  // namespace shardcheck
