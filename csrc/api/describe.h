// From the public description of a reduction to the core's.
#pragma once

#include <torch_reduce/core.h>

#include "core/problem/problem.h"

namespace torch_reduce::core {

// Checks everything that does not depend on the pointers, and describes the problem for elements at a multiple of 16
// bytes.
Status describe(const Reduction& reduction, Problem& problem) noexcept;

// Checks the pointers' values, and puts the input's alignment into the problem.
Status check_pointers(const void* in, const void* out, Problem& problem) noexcept;

}  // namespace torch_reduce::core
