// The linear recurrence of which derivatives of products are solutions.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_reduce {

// r[k] = b[k] + a[k] r[k + 1] along the last dim, where r is 0 behind the end and the last a does not matter. Where `a`
// is bool, it says whether r[k + 1] counts, whatever that is.
//
// By a tree: two neighbours are one step of a recurrence that is half as long. So nothing is divided, a zero is an
// element like any other to derivatives of any order, and the work is that of some passes over the elements.
//
// An operator of its own, so that a compiled program of any length has one call of it and no tree. Where a derivative
// of the solution is wanted, it is the tree, of operators that are differentiable.
at::Tensor solve_recurrence(const at::Tensor& a, const at::Tensor& b);

}  // namespace torch_reduce
