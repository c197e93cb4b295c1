// From a dtype to the element type of element.cuh, on the host, once a launch.
#pragma once

#include "backends/cuda/element.cuh"
#include "core/assert.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// `visit(F32{})`, `visit(Bf16{})` or `visit(F16{})`.
template <class Visit>
void with_element(DType type, Visit visit) {
  switch (type) {
    case DType::f32: return visit(F32{});
    case DType::bf16: return visit(Bf16{});
    case DType::f16: return visit(F16{});
    default: SC_ASSERT(false, "no arithmetic is defined on one-byte elements");
  }
}

}  // namespace shardcheck::gpu
