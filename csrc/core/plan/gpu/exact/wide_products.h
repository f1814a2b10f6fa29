// Plans of exact sums of fp64 products.
#pragma once

#include "core/plan/gpu/exact.h"

namespace torch_reduce::exact {

// Of outputs that exist. As many warps as an SM holds, as far as each has enough to do.
ExactPlan plan_wide_products(const Problem& problem, const Gpu& gpu, const Constraint& constraint);

}  // namespace torch_reduce::exact
