#include "derivative.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include "../dispatch/call.h"
#include "../schema/result_type.h"
#include "product_of_others.h"
#include "scan_derivative.h"
#include "ties.h"

namespace torch_reduce {

at::Tensor sum(const Reduction& r, const at::Tensor& x, bool keepdim, std::optional<at::ScalarType> type) {
  return call({Op::Sum, at::IntArrayRef(r.dims), keepdim, type, r.mode}, x);
}

at::Tensor with_reduced_dims(const Reduction& r, at::Tensor x, const Operands& o) {
  if (r.keepdim || o.sizes.empty()) return x;
  for (const int64_t d : r.dims) x = x.unsqueeze(d);  // ascending
  return x;
}

at::Tensor of_root(const at::Tensor& x, const at::Tensor& root) {
  return at::where(root == 0, at::zeros({}, x.options()), x / (2 * root));
}

at::Tensor divide_by_count(const at::Tensor& x, const at::Tensor& count, at::ScalarType type) {
  return (x.to(at::toOpMathType(at::promote_types(x.scalar_type(), type))) / count).to(type);
}

namespace {

c10::SymInt count(const Reduction& r, const Operands& o) {
  c10::SymInt n = 1;
  for (const int64_t d : r.dims) n *= o.sizes[static_cast<size_t>(d)];
  return n;
}

// Backward, what is done once per output comes before what is done once per element; sum and mean give views.

at::Tensor sum_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return with_reduced_dims(r, grad, o).to(o.type).expand_symint(o.sizes);
}
at::Tensor sum_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return sum(r, tangent, r.keepdim, o.result.scalar_type());
}

at::Tensor mean_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return (with_reduced_dims(r, grad, o) / count(r, o)).to(o.type).expand_symint(o.sizes);
}
at::Tensor mean_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return sum(r, tangent, r.keepdim, o.result.scalar_type()) / count(r, o);
}

at::Tensor prod_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return (with_reduced_dims(r, grad, o) * product_of_others(o.self, r.dims, grad.scalar_type())).to(o.type);
}
at::Tensor prod_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return sum(r, tangent * product_of_others(o.self, r.dims, o.result.scalar_type()), r.keepdim, o.result.scalar_type());
}

// Where elements count: NaN does not.
at::Tensor are_numbers(const Operands& o) { return ties(o.self, o.self); }
at::Tensor nansum_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return with_reduced_dims(r, grad, o).to(o.type) * are_numbers(o);
}
at::Tensor nansum_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const at::Tensor counted = at::where(are_numbers(o), tangent, at::zeros({}, tangent.options()));
  return sum(r, counted, r.keepdim, o.result.scalar_type());
}
at::Tensor nanmean_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const at::Tensor numbers = are_numbers(o);
  return divide_by_count(with_reduced_dims(r, grad, o), sum(r, numbers, true), o.type) * numbers;
}
at::Tensor nanmean_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return divide_by_count(nansum_forward(r, tangent, o), sum(r, are_numbers(o), r.keepdim), o.result.scalar_type());
}

// The elements that tie share a gradient evenly, as torch's amax and amin have it.
at::Tensor extreme_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const at::Tensor tied = ties(o.self, with_reduced_dims(r, o.result, o));
  return divide_by_count(with_reduced_dims(r, grad, o), sum(r, tied, true), grad.scalar_type()) * tied;
}
at::Tensor extreme_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const at::Tensor tied = ties(o.self, with_reduced_dims(r, o.result, o));
  const at::ScalarType type = o.result.scalar_type();
  return divide_by_count(sum(r, tangent * tied, r.keepdim, type), sum(r, tied, r.keepdim), type);
}

at::Tensor sumsq_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const at::Tensor g = with_reduced_dims(r, grad, o);
  return (2 * g * o.self.to(g.scalar_type())).to(o.type);
}
at::Tensor sumsq_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const at::ScalarType type = o.result.scalar_type();
  return sum(r, 2 * tangent.to(type) * o.self.to(type), r.keepdim, type);
}

// The shares of elements in a sum of exponentials, by its logarithm in the compute type: rounded to 16 bits it may be
// far off.
at::Tensor shares(const Reduction& r, const Operands& o) {
  const at::ScalarType type = at::toOpMathType(o.result.scalar_type());
  const at::Tensor x = o.self.to(type);
  const bool is_wide = type == o.result.scalar_type();
  const at::Tensor logarithm = is_wide ? with_reduced_dims(r, o.result, o)
                                       : call({Op::LogSumExp, at::IntArrayRef(r.dims), true, std::nullopt, r.mode}, x);
  return (x - logarithm).exp();
}
at::Tensor logsumexp_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return (with_reduced_dims(r, grad, o) * shares(r, o)).to(o.type);
}
at::Tensor logsumexp_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return sum(r, tangent * shares(r, o), r.keepdim, o.result.scalar_type());
}

// What the sum of squared differences was divided by; 0 gives a gradient of infinities and NaN, as torch's.
at::Tensor degrees_of_freedom(const Reduction& r, const Operands& o, const at::Tensor& like) {
  const c10::SymFloat degrees = c10::SymFloat(count(r, o)) - r.correction;
  return at::full_symint({}, degrees, like.options()).clamp_min(0);
}
at::Tensor less_mean(const Reduction& r, const at::Tensor& x, at::ScalarType type) {
  return x.to(type) - call({Op::Mean, at::IntArrayRef(r.dims), true, type, r.mode}, x);
}
at::Tensor variance_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const at::Tensor g = with_reduced_dims(r, grad, o);
  return (2 * g / degrees_of_freedom(r, o, g) * less_mean(r, o.self, g.scalar_type())).to(o.type);
}
at::Tensor variance_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const at::ScalarType type = o.result.scalar_type();
  return sum(r, 2 * tangent * less_mean(r, o.self, type), r.keepdim, type) / degrees_of_freedom(r, o, o.result);
}
at::Tensor deviation_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return variance_backward(r, of_root(grad, o.result), o);
}
at::Tensor deviation_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return of_root(variance_forward(r, tangent, o), o.result);
}

// Of two results: the gradients of both come in one tensor, and so do the tangents.
Operands of_one(const Operands& o, int64_t which, at::ScalarType type) {
  return {o.sizes, type, o.self, o.result.defined() ? o.result.select(-1, which) : o.result};
}
template <auto kFirst, auto kSecond>
at::Tensor pair_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const at::ScalarType type = grad.scalar_type();
  return (kFirst(r, grad.select(-1, 0), of_one(o, 0, type)) + kSecond(r, grad.select(-1, 1), of_one(o, 1, type)))
      .to(o.type);
}
template <auto kFirst, auto kSecond>
at::Tensor pair_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return at::stack({kFirst(r, tangent, of_one(o, 0, o.type)), kSecond(r, tangent, of_one(o, 1, o.type))}, -1);
}

// The elements over their norm: where that is 0, all of them are.
at::Tensor direction(const Reduction& r, const Operands& o) {
  const at::Tensor norm = with_reduced_dims(r, o.result, o);
  return o.self.to(norm.scalar_type()) / at::where(norm == 0, at::ones({}, norm.options()), norm);
}
// By the derivative of the norm of each element.
template <at::Tensor (*kDirection)(const Reduction&, const Operands&)>
at::Tensor norm_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  return (with_reduced_dims(r, grad, o) * kDirection(r, o)).to(o.type);
}
template <at::Tensor (*kDirection)(const Reduction&, const Operands&)>
at::Tensor norm_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  return sum(r, tangent * kDirection(r, o), r.keepdim, o.result.scalar_type());
}
at::Tensor no_direction(const Reduction&, const Operands& o) {
  return at::zeros({}, o.self.options()).expand_symint(o.sizes);
}
at::Tensor signs(const Reduction&, const Operands& o) { return o.self.sgn(); }
// Those that tie, NaN among them, share it.
at::Tensor extreme_direction(const Reduction& r, const Operands& o) {
  const at::Tensor norm = with_reduced_dims(r, o.result, o), magnitude = o.self.abs();
  const at::Tensor tied = ties(magnitude, norm.to(o.type)).logical_or(o.self.isnan().logical_and(norm.isnan()));
  return divide_by_count(o.self.sgn() * tied, sum(r, tied, true), o.type);
}
// sgn(x) (|x| / norm)^(p - 1), and 0 where torch has it: where the norm or x is, and for p < 1 where x is infinite.
// There nothing is made of x, so that no derivative of a power is NaN and no other element's with it.
at::Tensor direction_of_order(const Reduction& r, const Operands& o) {
  const double p = r.correction;
  const at::Tensor norm = with_reduced_dims(r, o.result, o), x = o.self.to(norm.scalar_type()), magnitude = x.abs();
  const at::Tensor zero = at::zeros({}, norm.options()), one = at::ones({}, norm.options());
  at::Tensor is_none = (norm == 0).logical_or(x == 0);
  if (p < 1) is_none = is_none.logical_or(magnitude.isinf());
  const at::Tensor size = at::where(is_none, one, magnitude), whole = at::where(norm == 0, one, norm);
  // Below 1 the norm may be far above an element, and the quotient out of the range.
  const at::Tensor power = p > 0 && p < 1 ? whole.pow(1 - p) / size.pow(1 - p) : (size / whole).pow(p - 1);
  return at::where(is_none, zero, x.sgn() * power);
}

// By the operator's name in operators.def: one that lacks its row here does not compile.
namespace derivatives {
constexpr Derivative Sum{false, false, sum_backward, sum_forward};
constexpr Derivative Mean{false, false, mean_backward, mean_forward};
constexpr Derivative Prod{true, false, prod_backward, prod_forward};
constexpr Derivative Max{true, true, extreme_backward, extreme_forward};
constexpr Derivative Min{true, true, extreme_backward, extreme_forward};
constexpr Derivative Sumsq{true, false, sumsq_backward, sumsq_forward};
constexpr Derivative ArgMax{};  // integers have none
constexpr Derivative ArgMin{};
constexpr Derivative CountNonzero{};
constexpr Derivative AnyNonzero{};
constexpr Derivative AllNonzero{};
constexpr Derivative LogSumExp{true, true, logsumexp_backward, logsumexp_forward};
constexpr Derivative Variance{true, false, variance_backward, variance_forward};
constexpr Derivative StandardDeviation{true, true, deviation_backward, deviation_forward};
constexpr Derivative Dot{};  // derivative_of_two.h
constexpr Derivative Norm2{true, true, norm_backward<direction>, norm_forward<direction>};
constexpr Derivative VarianceAndMean{true, false, pair_backward<variance_backward, mean_backward>,
                                     pair_forward<variance_forward, mean_forward>};
constexpr Derivative DeviationAndMean{true, true, pair_backward<deviation_backward, mean_backward>,
                                      pair_forward<deviation_forward, mean_forward>};
constexpr Derivative Nansum{true, false, nansum_backward, nansum_forward};
constexpr Derivative Nanmean{true, false, nanmean_backward, nanmean_forward};
constexpr Derivative MinAndMax{true, true, pair_backward<extreme_backward, extreme_backward>,
                               pair_forward<extreme_forward, extreme_forward>};
constexpr Derivative Norm0{true, false, norm_backward<no_direction>, norm_forward<no_direction>};
constexpr Derivative Norm1{true, false, norm_backward<signs>, norm_forward<signs>};
constexpr Derivative NormInf{true, true, norm_backward<extreme_direction>, norm_forward<extreme_direction>};
constexpr Derivative NormMinusInf{true, true, norm_backward<extreme_direction>, norm_forward<extreme_direction>};
constexpr Derivative NormOfOrder{true, true, norm_backward<direction_of_order>, norm_forward<direction_of_order>};
}  // namespace derivatives

at::Tensor in_fp32(const at::Tensor& t) { return t.defined() ? t.to(at::kFloat) : t; }
Operands in_fp32(const Operands& o) { return {o.sizes, at::kFloat, in_fp32(o.self), in_fp32(o.result)}; }

}  // namespace

at::Tensor apply_backward(const Reduction& r, const at::Tensor& grad, const Operands& o) {
  const auto backward = derivative_of(r).backward;
  return is_float8(o.type) ? backward(r, in_fp32(grad), in_fp32(o)).to(o.type) : backward(r, grad, o);
}
at::Tensor apply_forward(const Reduction& r, const at::Tensor& tangent, const Operands& o) {
  const auto forward = derivative_of(r).forward;
  return is_float8(o.type) ? forward(r, in_fp32(tangent), in_fp32(o)).to(o.result.scalar_type())
                           : forward(r, tangent, o);
}

Reduction describe(const Request& r, int64_t ndim) {
  Reduction reduction{r.op, {}, r.keepdim, std::string(r.mode), r.correction, r.scan};
  const DimMask mask = reduced_dims(r, ndim);
  for (int64_t d = 0; d < ndim; ++d) {
    if (mask.reduced[d]) reduction.dims.push_back(d);
  }
  return reduction;
}

const Derivative& derivative_of(const Reduction& reduction) {
  if (reduction.scan) return derivative_of(*reduction.scan);
  static constexpr const Derivative* table[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) &derivatives::Struct,
#include <torch_reduce/operators.def>
  };
  return *table[static_cast<int>(reduction.op)];
}

}  // namespace torch_reduce
