#include "ties.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/eq.h>
#include <torch/library.h>

namespace torch_reduce {
namespace {

at::Tensor compare(const at::Tensor& self, const at::Tensor& result) { return at::eq(self, result); }

}  // namespace

at::Tensor ties(const at::Tensor& self, const at::Tensor& result) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce::_ties", "")
                             .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  return op.call(self, result);
}

// On every device, the meta device too.
TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { m.impl("_ties", TORCH_FN(compare)); }

// Not differentiable.
TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_ties", torch::CppFunction::makeFallthrough()); }

}  // namespace torch_reduce
