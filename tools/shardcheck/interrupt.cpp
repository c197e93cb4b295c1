#include "tools/shardcheck/interrupt.h"

#include <csignal>

namespace shardcheck {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not take a lock");

void on_signal(int) {
  interrupted = true;
}

}  // namespace

std::atomic<bool>& interrupt_flag() {
  return interrupted;
}

void listen_for_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace shardcheck
