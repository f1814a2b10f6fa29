// What torch.compile and torch.func.functionalize make of the operators: calls by name, whose arguments Inductor can
// write (by_name.h). With out=, the result then takes the place of `out`; torch makes this rule itself only for
// operators whose results alias nothing.
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "register.h"

namespace torch_reduce {
namespace {

namespace functionalization = at::functionalization::impl;

// What stands behind a tensor of functionalisation, up to date.
at::Tensor unwrapped(const at::Tensor& t) {
  if (!functionalization::isFunctionalTensor(t)) return t;
  functionalization::sync(t);
  return functionalization::from_functional_tensor(t);
}

// Calls an operator on what stands behind `self`; the result is again a tensor of functionalisation, if that is one.
template <class Call>
at::Tensor below(const at::Tensor& self, Call call) {
  const at::Tensor input = unwrapped(self);
  const at::AutoDispatchSkipFunctionalize skip;
  const at::Tensor result = call(input);
  return functionalization::isFunctionalTensor(self) ? functionalization::to_functional_tensor(result) : result;
}

struct Functionalize {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    return below(self, [&](const at::Tensor& x) {
      check(r, x);  // for its words: by its name an operator has all dims where it was given none
      return call_by_name(r, x);
    });
  }

  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    if (!functionalization::isFunctionalTensor(out)) {
      TORCH_CHECK(!functionalization::isFunctionalTensor(self), "reduce::", name(r),
                  ": under functionalization out must be a tensor made inside of it, as the input is");
      const at::AutoDispatchSkipFunctionalize skip;
      return redispatch(keys & c10::after_func_keyset, r, self, out);
    }
    functionalization::sync(out);
    const at::Tensor input = unwrapped(self);
    const Checked checked = check(r, input, out.scalar_type());
    check_out(r, checked, input, result_sizes(r, checked, input.sym_sizes()),
              functionalization::from_functional_tensor(out));
    Request functional = r;
    functional.dtype = checked.type;
    const at::Tensor result = [&] {
      const at::AutoDispatchSkipFunctionalize skip;
      return call_by_name(functional, input);
    }();
    functionalization::replace_(out, result);  // resizes an `out` without elements, too
    functionalization::commit_update(out);
    functionalization::sync(out);
    return out;
  }
};

at::Tensor accumulate(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
  return below(self, [&](const at::Tensor& x) { return exact_accumulate_by_name(x, dim, keepdim); });
}

at::Tensor round(const at::Tensor& acc, at::ScalarType dtype, c10::SymInt divisor) {
  return below(acc, [&](const at::Tensor& x) { return exact_round_by_name(x, dtype, divisor); });
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Functionalize, m) {
  register_kernels<Functionalize>(m);
  m.impl("exact_accumulate", TORCH_FN(accumulate));
  m.impl("exact_round", TORCH_FN(round));
}

}  // namespace torch_reduce
