// The derivatives, as formulas over differentiable operators: so they can be differentiated again.
#pragma once

#include "../schema/request.h"

namespace torch_reduce {

// What a derivative needs to know of the call.
struct Reduction {
  Op op;
  at::DimVector dims;  // wrapped, ascending; every reduced dim
  bool keepdim;
  std::string mode;
};
Reduction describe(const Request& request, int64_t ndim);

// What a derivative reads beside the sizes.
struct Reads {
  bool self, result;
};
Reads reads_of(Op op);

// d result / d self applied to `grad`, which has the result's shape; the gradient has `sizes` and `type`. `self` and
// `result` are defined where reads_of() says that they are read. Nothing waits for the device and every step is
// deterministic.
at::Tensor backward(const Reduction& r, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& result,
                    c10::SymIntArrayRef sizes, at::ScalarType type);

// The same derivative applied to a tangent of self (forward mode). Neither `self` nor `result` has a tangent.
at::Tensor forward(const Reduction& r, const at::Tensor& tangent, const at::Tensor& self, const at::Tensor& result);

}  // namespace torch_reduce
