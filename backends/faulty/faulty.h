// faulty(backend, fault): the same backend with one numeric fault. It speaks to the wrapped backend through
// its four calls only, so any backend can be wrapped: ops that the fault leaves alone run as they are, and
// around the others bytes are read, changed and written back. Next: faulty/faults.h, the faults.
#pragma once

#include <memory>

#include "backends/faulty/faults.h"
#include "core/backend.h"

namespace shardcheck {

/// `fault` is an entry of list_numeric_faults().
std::unique_ptr<Backend> make_faulty_backend(std::unique_ptr<Backend> inner, const NumericFault& fault);

}  // namespace shardcheck
