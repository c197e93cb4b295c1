#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace shardcheck {

void assertion_failed(std::string_view condition, std::string_view why, std::source_location where) {
  std::fprintf(stderr, "shardcheck: a mistake of ours: %.*s (%.*s) at %s:%u in %s\n",
               static_cast<int>(why.size()), why.data(), static_cast<int>(condition.size()), condition.data(),
               where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

}  // namespace shardcheck
