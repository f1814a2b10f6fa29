#include "linear_recurrence.h"

#include <ATen/ATen.h>

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

}  // namespace

at::Tensor solve_recurrence(const at::Tensor& a, const at::Tensor& b) {
  const c10::SymInt n = b.sym_size(-1);
  int64_t width = 1;
  while (n > width) width *= 2;
  const auto padded = [&](const at::Tensor& x) { return at::constant_pad_nd_symint(x, {0, width - n}); };
  return solve(padded(a), padded(b), width).slice_symint(-1, 0, n);
}

}  // namespace torch_reduce
