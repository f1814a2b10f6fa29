#include "derivative_of_two.h"

#include <ATen/ATen.h>

#include <limits>

#include "../dispatch/two.h"

namespace torch_reduce {
namespace {

Request request_like(const Reduction& r, Op op, bool keepdim, std::optional<at::ScalarType> type, Role role) {
  return {op, at::IntArrayRef(r.dims), keepdim, type, r.mode, r.correction, std::nullopt, role};
}

at::Tensor where_counted(const at::Tensor& mask, const at::Tensor& x) { return at::where(mask, x, at::Scalar(0)); }

at::Tensor counts(const Reduction& r, const TwoOperands& o, bool keepdim) {
  return counts_of(request_like(r, Op::Sum, keepdim, std::nullopt, Role::None), o.other);
}

// Self with elements that change nothing in the place of those that do not count: the operator's own derivative at that
// is the masked one's.
at::Tensor self_of(const Reduction& r, const TwoOperands& o) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double identity = r.op == Op::Prod                           ? 1
                          : r.op == Op::Max || r.op == Op::LogSumExp ? -kInfinity
                          : r.op == Op::Min                          ? kInfinity
                                                                     : 0;
  const at::Tensor& self = o.first.self;
  if (r.op != Op::Max && r.op != Op::Min) return at::where(o.other, self, at::Scalar(identity));
  // An infinite extreme is that of an element that counts, if there is any, and no other ties with it.
  const at::Tensor is_taken = with_reduced_dims(r, o.first.result, o.first).isinf().logical_and(counts(r, o, true) > 0);
  return at::where(o.other, self, at::where(is_taken, at::Scalar(0), at::Scalar(identity)).to(self.scalar_type()));
}
Operands first_of(const Reduction& r, const TwoOperands& o) {
  Operands first = o.first;
  if (derivative_of(r).reads_self) first.self = self_of(r, o);
  if (r.op == Op::LogSumExp) {
    // Where nothing counts, any finite numbers do: what is made of them is left out.
    const at::Tensor is_none = counts(r, o, r.keepdim) == 0;
    first.self = at::where(with_reduced_dims(r, is_none, first), at::Scalar(0), first.self);
    first.result = at::where(is_none, at::Scalar(0), first.result);
  }
  return first;
}

// What divides by how many elements count.

at::Tensor degrees_of_freedom(const Reduction& r, const TwoOperands& o, bool keepdim, at::ScalarType type) {
  return (counts(r, o, keepdim) - r.correction).clamp_min(0).to(type);
}
at::Tensor less_mean(const Reduction& r, const TwoOperands& o, at::ScalarType type) {
  const at::Tensor mean = call_of_two(request_like(r, Op::Mean, true, type, Role::Mask), o.first.self, o.other);
  return where_counted(o.other, o.first.self.to(type) - mean);
}

at::Tensor mean_backward(const Reduction& r, const at::Tensor& grad, const TwoOperands& o) {
  return divide_by_count(with_reduced_dims(r, grad, o.first), counts(r, o, true), o.first.type)
      .expand_symint(o.first.sizes);
}
at::Tensor mean_forward(const Reduction& r, const at::Tensor& tangent, const TwoOperands& o) {
  const at::ScalarType type = o.first.result.scalar_type();
  return divide_by_count(sum(r, tangent, r.keepdim, type), counts(r, o, r.keepdim), type);
}
at::Tensor variance_backward(const Reduction& r, const at::Tensor& grad, const TwoOperands& o) {
  const at::Tensor g = with_reduced_dims(r, grad, o.first);
  const at::ScalarType type = g.scalar_type();
  return (2 * g / degrees_of_freedom(r, o, true, type) * less_mean(r, o, type)).to(o.first.type);
}
at::Tensor variance_forward(const Reduction& r, const at::Tensor& tangent, const TwoOperands& o) {
  const at::ScalarType type = o.first.result.scalar_type();
  return sum(r, 2 * tangent * less_mean(r, o, type), r.keepdim, type) / degrees_of_freedom(r, o, r.keepdim, type);
}

at::Tensor masked_backward(const Reduction& r, const at::Tensor& grad, const TwoOperands& o) {
  switch (r.op) {
    case Op::Mean:
      return mean_backward(r, grad, o);
    case Op::Variance:
      return variance_backward(r, grad, o);
    case Op::StandardDeviation:
      return variance_backward(r, of_root(grad, o.first.result), o);
    default:
      return derivative_of(r).backward(r, grad, first_of(r, o));
  }
}
at::Tensor masked_forward(const Reduction& r, const at::Tensor& tangent, const TwoOperands& o) {
  switch (r.op) {
    case Op::Mean:
      return mean_forward(r, tangent, o);
    case Op::Variance:
      return variance_forward(r, tangent, o);
    case Op::StandardDeviation:
      return of_root(variance_forward(r, tangent, o), o.first.result);
    default:
      return derivative_of(r).forward(r, tangent, first_of(r, o));
  }
}

bool is_product(const Reduction& r) { return traits_of(r.op).role == Role::Factor; }

at::Tensor times(const Reduction& r, const at::Tensor& grad, const at::Tensor& factor, const TwoOperands& o) {
  const at::Tensor g = with_reduced_dims(r, grad, o.first);
  return (g * factor.to(g.scalar_type())).to(o.first.type);
}

}  // namespace

std::array<at::Tensor, 2> backward_of_two(const Reduction& r, const at::Tensor& grad, const TwoOperands& o,
                                          std::array<bool, 2> wanted) {
  if (!grad.defined()) return {};
  if (is_product(r)) {
    return {wanted[0] ? times(r, grad, o.other, o) : at::Tensor(),
            wanted[1] ? times(r, grad, o.first.self, o) : at::Tensor()};
  }
  return {wanted[0] ? where_counted(o.other, masked_backward(r, grad, o)) : at::Tensor(), at::Tensor()};
}

at::Tensor forward_of_two(const Reduction& r, const std::array<at::Tensor, 2>& tangents, const TwoOperands& o) {
  if (!is_product(r)) return masked_forward(r, where_counted(o.other, tangents[0]), o);
  const auto dot = [&](const at::Tensor& a, const at::Tensor& b) {
    return call_of_two(request_like(r, r.op, r.keepdim, o.first.result.scalar_type(), Role::Factor), a, b);
  };
  if (!tangents[1].defined()) return dot(tangents[0], o.other);
  if (!tangents[0].defined()) return dot(o.first.self, tangents[1]);
  return dot(tangents[0], o.other) + dot(o.first.self, tangents[1]);
}

}  // namespace torch_reduce
