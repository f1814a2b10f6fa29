// The derivatives of the scans, a row each.
#pragma once

#include "derivative.h"

namespace torch_reduce {

const Derivative& derivative_of(Scan scan);

}  // namespace torch_reduce
