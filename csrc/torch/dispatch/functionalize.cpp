// out= without mutation, for torch.compile and torch.func.functionalize: the functional operator, whose result then
// takes the place of `out`. Here because torch makes this rule itself only for operators whose results alias nothing.
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "register.h"

namespace torch_reduce {
namespace {

namespace functionalization = at::functionalization::impl;

struct Functionalize {
  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    if (!functionalization::isFunctionalTensor(out)) {
      TORCH_CHECK(!functionalization::isFunctionalTensor(self), "reduce::", name(r.op),
                  ": under functionalization out must be a tensor made inside of it, as the input is");
      const at::AutoDispatchSkipFunctionalize below;
      return redispatch(keys & c10::after_func_keyset, r, self, out);
    }
    functionalization::sync(out);
    at::Tensor input = self;
    if (functionalization::isFunctionalTensor(self)) {
      functionalization::sync(self);
      input = functionalization::from_functional_tensor(self);
    }
    const Checked checked = check(r, input, out.scalar_type());
    check_out(r, checked, input, result_sizes(input.sym_sizes(), checked.mask, r.keepdim),
              functionalization::from_functional_tensor(out));
    Request functional = r;
    functional.dtype = checked.type;
    const at::Tensor result = [&] {
      const at::AutoDispatchSkipFunctionalize below;
      return call(functional, input);
    }();
    functionalization::replace_(out, result);  // resizes an `out` without elements, too
    functionalization::commit_update(out);
    functionalization::sync(out);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Functionalize, m) { register_out<Functionalize>(m); }

}  // namespace torch_reduce
