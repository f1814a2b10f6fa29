// Plans of exact sums of products that are read by single elements.
#pragma once

#include "core/plan/gpu/exact.h"

namespace torch_reduce::exact {

// Of outputs that exist. As many CTAs as SMs hold, as far as each has enough to do. `near`:
// neighbouring outputs are nearer in memory than an output's elements.
ExactPlan plan_element_products(const Problem& problem, bool near, const Gpu& gpu);

}  // namespace torch_reduce::exact
