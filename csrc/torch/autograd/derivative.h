// The derivatives: a row for each operator, of formulas over differentiable operators, so they can be differentiated
// again.
#pragma once

#include "../schema/request.h"

namespace torch_reduce {

// What a derivative needs to know of the call.
struct Reduction {
  Op op;
  at::DimVector dims;  // wrapped, ascending; every reduced dim
  bool keepdim;
  std::string mode;
  double correction;
  std::optional<Scan> scan;
};
Reduction describe(const Request& request, int64_t ndim);

// Where a derivative is taken.
struct Operands {
  c10::SymIntArrayRef sizes;  // of self
  at::ScalarType type;        // of self
  at::Tensor self, result;    // neither has a tangent
};

// No formula waits for the device, and every step is deterministic.
struct Derivative {
  // What `backward` reads; the rest of its operands is undefined, and need not be kept until then.
  bool reads_self = false, reads_result = false;
  // d result / d self applied to `grad`, which has the result's shape; the gradient has the sizes and the type of self.
  at::Tensor (*backward)(const Reduction&, const at::Tensor& grad, const Operands&) = nullptr;
  // The same derivative applied to a tangent of self: a tangent of the result.
  at::Tensor (*forward)(const Reduction&, const at::Tensor& tangent, const Operands&) = nullptr;
};
const Derivative& derivative_of(const Reduction& reduction);

// A reduction's own, applied. That of float8 elements is that of the same in fp32, as torch has no functions of float8.
at::Tensor apply_backward(const Reduction& reduction, const at::Tensor& grad, const Operands& operands);
at::Tensor apply_forward(const Reduction& reduction, const at::Tensor& tangent, const Operands& operands);

// Of what they are made. The sum over the same dims, in the same mode; a result's shape as if keepdim had been given;
// and the derivative of a root by that of its square, 0 where the root is 0, as torch has it.
at::Tensor sum(const Reduction& reduction, const at::Tensor& x, bool keepdim,
               std::optional<at::ScalarType> type = std::nullopt);
at::Tensor with_reduced_dims(const Reduction& reduction, at::Tensor x, const Operands& operands);
at::Tensor of_root(const at::Tensor& x, const at::Tensor& root);
// x / count of the type, where `count` is an integer tensor: at least in fp32, as fp16 and bf16 do not hold every
// count.
at::Tensor divide_by_count(const at::Tensor& x, const at::Tensor& count, at::ScalarType type);

}  // namespace torch_reduce
