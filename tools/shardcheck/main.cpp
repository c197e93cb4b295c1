// The executable. Everything else is the library shardcheck_command, so that tests call what users call.
#include <iostream>

#include "tools/shardcheck/command.h"
#include "tools/shardcheck/interrupt.h"

int main(int count, char** values) {
  std::ios::sync_with_stdio(false);
  shardcheck::listen_for_interrupts();
  return shardcheck::run_command({values + 1, values + count}, std::cout, std::cerr);
}
