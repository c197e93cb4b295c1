// The laws of how scales lie in memory, F35 to F37 (fp8 3.3, 3.4, 5.3). Next: scale_laws.h.
#pragma once

#include "properties/scale_law/subject.h"

namespace shardcheck {

/// F35: sizes and places of the scales of the case's stored matrix, and the sizes of the copies of its own.
ScaleVerdict lies_where_it_should(const ScaleSubject& s);
/// F36, of recipes whose products read swizzled scales.
ScaleVerdict swizzles_all(const ScaleSubject& s);
/// F37: padding of scales, and what lies after the matrix.
ScaleVerdict ignores_padding(const ScaleSubject& s);

}  // namespace shardcheck
