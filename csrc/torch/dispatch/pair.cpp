// Operators of two results. Kernels, and whatever else is registered for an operator, give them as one tensor, whose
// last dim holds both: reduce::_var_mean. A caller gets the two as views.
#include <torch/library.h>

#include "call.h"

namespace torch_reduce {
namespace {

template <Op op>
std::tuple<at::Tensor, at::Tensor> spread_pair(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                                               const std::optional<at::Scalar>& correction) {
  return call_pair(spread_request(op, dim, keepdim, correction), self);
}

template <Op op>
std::tuple<at::Tensor, at::Tensor> plain_pair(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
  return call_pair({op, dim, keepdim, std::nullopt}, self);
}

template <Op op>
void register_pair(torch::Library& m) {
  if constexpr (is_pair(op) && signature_of(op) == Signature::spread) {
    m.impl(name(op), TORCH_FN(spread_pair<op>));
  } else if constexpr (is_pair(op)) {
    m.impl(name(op), TORCH_FN(plain_pair<op>));
  }
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeImplicitAutograd, m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) register_pair<Op::Struct>(m);
#include <torch_reduce/operators.def>
}

}  // namespace torch_reduce
