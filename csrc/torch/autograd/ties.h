// Where an extreme value stands.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_reduce {

// The elements of `self` that are equal to their result, which has the reduced dims as size 1: a bool tensor. It is an
// operator, reduce::_ties, and not a comparison, as a compiler might fuse that with what makes `self` and compare
// elements before they are rounded.
at::Tensor ties(const at::Tensor& self, const at::Tensor& result);

}  // namespace torch_reduce
