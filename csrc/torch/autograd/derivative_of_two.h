// The derivatives of operators of two tensors, of formulas over differentiable operators.
#pragma once

#include <array>

#include "derivative.h"

namespace torch_reduce {

struct TwoOperands {
  Operands first;
  at::Tensor other;
};

// Of both tensors, of a mask none; undefined where not wanted.
std::array<at::Tensor, 2> backward_of_two(const Reduction& reduction, const at::Tensor& grad,
                                          const TwoOperands& operands, std::array<bool, 2> wanted);
// Tangents may be undefined.
at::Tensor forward_of_two(const Reduction& reduction, const std::array<at::Tensor, 2>& tangents,
                          const TwoOperands& operands);

}  // namespace torch_reduce
