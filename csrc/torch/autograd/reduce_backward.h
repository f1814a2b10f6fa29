// Derivatives of reductions and scans, of one tensor or two: what is recorded with a result.
#pragma once

#include "derivative_of_two.h"

namespace torch_reduce {

// Whether a gradient or a tangent is wanted of what is computed from a tensor.
bool is_differentiated(const at::Tensor& x);

// Gives `result`, which is floating, its place in the graph, if a gradient is wanted, and its tangent, if there is one.
// Of one tensor, `other` is undefined.
void record(const Reduction& reduction, const at::Tensor& self, const at::Tensor& other, at::Tensor& result);

}  // namespace torch_reduce
