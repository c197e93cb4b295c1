// Where fold_order.h was before the reference needed it too. Read next: backends/fold_order.h.
#pragma once

#include "backends/fold_order.h"
