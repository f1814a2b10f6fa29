#include "linear_recurrence.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "reduce_backward.h"

namespace torch_reduce {
namespace {

at::Tensor times(const at::Tensor& a, const at::Tensor& x) {
  return a.scalar_type() == at::kBool ? at::where(a, x, at::zeros({}, x.options())) : a * x;
}

// Of a power of two of elements.
at::Tensor solve(const at::Tensor& a, const at::Tensor& b, int64_t n) {
  if (n == 1) return b;
  const auto every_other = [n](const at::Tensor& x, int64_t first) { return at::slice(x, -1, first, n, 2); };
  const at::Tensor first = every_other(a, 0), second = every_other(a, 1), last = every_other(b, 1);
  const at::Tensor even = solve(first * second, every_other(b, 0) + times(first, last), n / 2);
  const at::Tensor next = at::constant_pad_nd(even.narrow(-1, 1, n / 2 - 1), {0, 1});
  return at::stack({even, last + times(second, next)}, -1).reshape_symint(b.sym_sizes());
}

at::Tensor by_tree(const at::Tensor& a, const at::Tensor& b) {
  const c10::SymInt n = b.sym_size(-1);
  int64_t width = 1;
  while (n > width) width *= 2;
  const auto padded = [&](const at::Tensor& x) { return at::constant_pad_nd_symint(x, {0, width - n}); };
  return solve(padded(a), padded(b), width).slice_symint(-1, 0, n);
}

at::Tensor compute(const at::Tensor& a, const at::Tensor& b) { return by_tree(a, b).contiguous(); }

at::Tensor without_data(const at::Tensor&, const at::Tensor& b) { return at::empty_symint(b.sym_sizes(), b.options()); }

const auto& handle() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce::_linear_recurrence", "")
                             .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  return op;
}

at::Tensor differentiable(c10::DispatchKeySet keys, const at::Tensor& a, const at::Tensor& b) {
  if (is_differentiated(a) || is_differentiated(b)) return by_tree(a, b);
  const at::AutoDispatchBelowADInplaceOrView below;
  return handle().redispatch(keys & c10::after_autograd_keyset, a, b);
}

}  // namespace

at::Tensor solve_recurrence(const at::Tensor& a, const at::Tensor& b) { return handle().call(a, b); }

TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { m.impl("_linear_recurrence", TORCH_FN(compute)); }
TORCH_LIBRARY_IMPL(reduce, Meta, m) { m.impl("_linear_recurrence", TORCH_FN(without_data)); }
TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_linear_recurrence", TORCH_FN(differentiable)); }

}  // namespace torch_reduce
