// A dim that is a symbolic integer, as in a function that is compiled for dynamic shapes. torch takes one within a list
// but not in place of it, so it has an overload. Its value becomes a constant of the program, as in torch.sum.
#include <ATen/core/dispatch/Dispatcher.h>

#include "register.h"

namespace torch_reduce {
namespace {

int64_t known(const c10::SymInt& dim) { return dim.guard_int(__FILE__, __LINE__); }

template <Op op>
struct SymbolicDim {
  static at::Tensor typed(const at::Tensor& self, c10::SymInt dim, bool keepdim, std::optional<at::ScalarType> dtype,
                          c10::string_view mode) {
    const int64_t d = known(dim);
    return call({op, at::IntArrayRef(d), keepdim, dtype, mode}, self);
  }
  static at::Tensor plain(const at::Tensor& self, c10::SymInt dim, bool keepdim) {
    return typed(self, std::move(dim), keepdim, std::nullopt, "");
  }
  static at::Tensor spread(const at::Tensor& self, c10::SymInt dim, bool keepdim,
                           const std::optional<at::Scalar>& correction) {
    const int64_t d = known(dim);
    return call(spread_request(op, at::IntArrayRef(d), keepdim, correction), self);
  }
};

at::Tensor accumulate(const at::Tensor& self, c10::SymInt dim, bool keepdim) {
  const int64_t d = known(dim);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::exact_accumulate", "").typed<Plain>();
  return op.call(self, at::IntArrayRef(d), keepdim);
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeImplicitAutograd, m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  m.impl(#name ".dim", TORCH_FN(SymbolicDim<Op::Struct>::signature));
#include <torch_reduce/operators.def>
  m.impl("exact_accumulate.dim", TORCH_FN(accumulate));
}

}  // namespace torch_reduce
