// The derivative of a product.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_reduce {

// For each element, the product of all others that are reduced with it, in a floating type at least as wide as those of
// `self`, `result` and fp32. Zeros, Inf and NaN as in IEEE's product of the real numbers: finite elements overflow or
// underflow in the end alone, never on the way. Multiplies and never divides, so derivatives of any order are right.
// An operator of its own, as the solution of a recurrence is (linear_recurrence.h).
at::Tensor product_of_others(const at::Tensor& self, at::IntArrayRef dims, at::ScalarType result);

}  // namespace torch_reduce
