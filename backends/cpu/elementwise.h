// Ops that treat every element alone. Each result is rounded once to the type of the destination;
// elementwise.cpp says why for every pair of types. A source may be its destination itself, as in a sum with
// itself.
#pragma once

#include "backends/cpu/memory.h"

namespace shardcheck::cpu {

/// What an op reads, and what it changes; equally many elements.
struct SourceTo {
  Range source, destination;
};

/// range := value, rounded to its type. One-byte elements take only 0.
void fill(const Range& range, float value);

/// destination := source, rounded to nearest even. One-byte elements only to their own type.
void copy(const SourceTo& ranges);

/// destination := destination + source, one rounding.
void add(const SourceTo& ranges);

/// range := range * factor, one rounding.
void scale(const Range& range, float factor);

/// destination := destination - rate * source in fp32: one rounded product, one rounded difference.
void sgd_step(const SourceTo& ranges, float rate);

}  // namespace shardcheck::cpu
