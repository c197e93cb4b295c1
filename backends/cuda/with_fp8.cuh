// From an FP8 dtype to the element type of fp8.cuh, on the host, once a launch. with_element.cuh has the
// others.
#pragma once

#include "backends/cuda/fp8.cuh"
#include "core/assert.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// `visit(E4m3{})` or `visit(E5m2{})`.
template <class Visit>
void with_fp8(DType type, Visit visit) {
  if (type == DType::e4m3) return visit(E4m3{});
  SC_ASSERT(type == DType::e5m2, "codes are neither E4M3 nor E5M2");
  visit(E5m2{});
}

}  // namespace shardcheck::gpu
