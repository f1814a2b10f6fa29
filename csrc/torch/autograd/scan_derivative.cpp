#include "scan_derivative.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include <limits>

#include "../dispatch/call.h"
#include "linear_recurrence.h"

namespace torch_reduce {
namespace {

int64_t dim_of(const Reduction& r) { return r.dims.empty() ? 0 : r.dims.front(); }

// The scans themselves, by the operators whose prefixes they are.
at::Tensor scan_by(Scan scan, const at::Tensor& x, int64_t dim, std::optional<at::ScalarType> type = std::nullopt) {
  return call(scan_request(scan, dim, type), x);
}
at::Tensor reversed(const at::Tensor& x, int64_t dim) { return x.dim() == 0 ? x : x.flip(dim); }
// From each element to the last one.
at::Tensor suffixes(Scan scan, const at::Tensor& x, int64_t dim) {
  return reversed(scan_by(scan, reversed(x, dim), dim), dim);
}

at::Tensor sums_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return suffixes(Scan::cumsum, grad, dim_of(r)).to(o.type);
}
at::Tensor sums_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return scan_by(Scan::cumsum, tangent, dim_of(r), o.result.scalar_type());
}

// A product's derivative by element k is the product before it, times what follows: g[k] + x[k + 1] (g[k + 1] + ...), a
// linear recurrence. Torch divides by elements instead, and takes quadratic time where that has no second derivative.

struct Factors {
  at::Tensor x, before;  // the elements, the scanned dim in last place, and the products of those before each
};
at::Tensor with_dim_last(const Reduction& r, const at::Tensor& x) {
  return x.dim() == 0 ? x.reshape({1}) : x.movedim(dim_of(r), -1);
}
at::Tensor with_dim_back(const Reduction& r, const at::Tensor& x, const Operands& o) {
  return o.sizes.empty() ? x.reshape({}) : x.movedim(-1, dim_of(r));
}
// `x` one place further, or one nearer, `value` being first, or last.
at::Tensor shifted(const at::Tensor& x, int64_t by, double value) {
  const c10::SymInt kept = x.sym_size(-1) - 1;
  return by > 0 ? at::constant_pad_nd(x.narrow_symint(-1, 0, kept), {1, 0}, value)
                : at::constant_pad_nd(x.narrow_symint(-1, 1, kept), {0, 1}, value);
}
Factors factors(const Reduction& r, const Operands& o, at::ScalarType type) {
  const at::Tensor x = with_dim_last(r, o.self).to(at::toOpMathType(at::promote_types(o.type, type)));
  return {x, shifted(scan_by(Scan::cumprod, x, -1), 1, 1)};
}
bool has_none(const at::Tensor& x) { return TORCH_GUARD_OR_FALSE(x.sym_numel().sym_eq(0)); }

at::Tensor products_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  if (has_none(grad)) return grad.to(o.type);
  const Factors f = factors(r, o, grad.scalar_type());
  const at::Tensor behind = solve_recurrence(shifted(f.x, -1, 0), with_dim_last(r, grad).to(f.x.scalar_type()));
  return with_dim_back(r, f.before * behind, o).to(o.type);
}
// d[k] = x[k] d[k - 1] + t[k] * product before k: the same recurrence from the other end.
at::Tensor products_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const at::ScalarType type = o.result.scalar_type();
  if (has_none(tangent)) return tangent.to(type);
  const Factors f = factors(r, o, type);
  const at::Tensor changes = f.before * with_dim_last(r, tangent).to(f.x.scalar_type());
  return with_dim_back(r, solve_recurrence(f.x.flip(-1), changes.flip(-1)).flip(-1), o).to(type);
}

// The logarithms of the sums, the scanned dim in last place, in the compute type: rounded to 16 bits they may be far
// off.
at::Tensor logarithms(const Reduction& r, const Operands& o) {
  const at::ScalarType type = at::toOpMathType(o.result.scalar_type());
  const bool are_wide = type == o.result.scalar_type();
  return with_dim_last(r, are_wide ? o.result : scan_by(Scan::logcumsumexp, o.self.to(type), dim_of(r)));
}
// exp(part - whole) of logarithms, of which the former is the lower one: that of -infinity is nothing, and so are its
// derivatives.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
at::Tensor share(const at::Tensor& part, const at::Tensor& whole) {
  const at::Tensor is_nothing = part == -kInfinity, zero = at::zeros({}, part.options());
  return at::where(is_nothing, zero, at::where(is_nothing, zero, part - whole).exp());
}

// Of s, the logarithms of the sums: exp(x[k]) times all g[j] exp(-s[j]) from k on. That is the share of x[k] in s[k],
// times r[k] = g[k] + the share of s[k] in s[k + 1] times r[k + 1]. So no exponential leaves the type's range.
at::Tensor exponentials_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  if (has_none(grad)) return grad.to(o.type);
  const at::Tensor sums = logarithms(r, o), x = with_dim_last(r, o.self).to(sums.scalar_type());
  const at::Tensor g = with_dim_last(r, grad).to(sums.scalar_type());
  const at::Tensor behind = solve_recurrence(share(sums, shifted(sums, -1, kInfinity)), g);
  return with_dim_back(r, share(x, sums) * behind, o).to(o.type);
}
at::Tensor exponentials_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  if (has_none(tangent)) return tangent.to(o.result.scalar_type());
  const at::Tensor sums = logarithms(r, o), x = with_dim_last(r, o.self).to(sums.scalar_type());
  const at::Tensor changes = share(x, sums) * with_dim_last(r, tangent).to(sums.scalar_type());
  const at::Tensor before = share(shifted(sums, 1, -kInfinity), sums);
  return with_dim_back(r, solve_recurrence(before.flip(-1), changes.flip(-1)).flip(-1), o).to(o.result.scalar_type());
}

// Where the extreme of each prefix stands: it changes from one run of equal indices to the next, and so each of these
// elements takes the sum of the gradients of its run.
at::Tensor indices(const Reduction& r, const at::Tensor& x) { return scan_by(scan_of_indices(*r.scan), x, dim_of(r)); }
at::Tensor extremes_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  if (has_none(grad)) return grad.to(o.type);
  const at::Tensor at = with_dim_last(r, indices(r, o.self));
  const at::Tensor follows = shifted(at, -1, -1).eq(at);
  const at::Tensor sums = solve_recurrence(follows, with_dim_last(r, grad).to(at::toOpMathType(o.type)));
  const at::Tensor is_own = at.eq(at::arange(at.sym_size(-1), at.options()));
  return with_dim_back(r, at::where(is_own, sums, at::zeros({}, sums.options())), o).to(o.type);
}
at::Tensor extremes_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return tangent.gather(dim_of(r), indices(r, o.self));
}

namespace scans {
constexpr Derivative cumsum{false, false, sums_backward, sums_forward};
constexpr Derivative cumprod{true, false, products_backward, products_forward};
constexpr Derivative logcumsumexp{true, true, exponentials_backward, exponentials_forward};
constexpr Derivative cummax{true, false, extremes_backward, extremes_forward};
constexpr Derivative cummin{true, false, extremes_backward, extremes_forward};
constexpr Derivative _cumargmax{};  // integers have none
constexpr Derivative _cumargmin{};
}  // namespace scans

}  // namespace

const Derivative& derivative_of(Scan scan) {
  static constexpr const Derivative* table[] = {
#define TORCH_REDUCE_SCAN(Struct, name, signature) &scans::name,
#include <torch_reduce/scans.def>
  };
  return *table[static_cast<int>(scan)];
}

}  // namespace torch_reduce
