#include "gradients.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "../dispatch/call.h"

namespace torch_reduce {
namespace {

// A result's shape as if keepdim had been given.
at::Tensor with_reduced_dims(const Reduction& r, at::Tensor x, int64_t ndim) {
  if (r.keepdim || ndim == 0) return x;
  for (const int64_t d : r.dims) x = x.unsqueeze(d);  // ascending
  return x;
}

c10::SymInt count(const Reduction& r, c10::SymIntArrayRef sizes) {
  c10::SymInt n = 1;
  for (const int64_t d : r.dims) n *= sizes[static_cast<size_t>(d)];
  return n;
}

// Over the same dims and in the same mode.
at::Tensor reduce(const Reduction& r, Op op, const at::Tensor& x, bool keepdim,
                  std::optional<at::ScalarType> type = std::nullopt) {
  return call({op, at::IntArrayRef(r.dims), keepdim, type, r.mode}, x);
}

// For each element of the last dim, the product of those before it (or after it): a scan of log2(n) steps that
// multiplies and never divides, so zeros need no case of their own and derivatives of any order are right.
at::Tensor exclusive_products(const at::Tensor& x, bool after) {
  const c10::SymInt n = x.sym_size(-1);
  const auto shifted = [&](const at::Tensor& t, const c10::SymInt& by) {
    const at::Tensor ones = at::ones_like(t.slice_symint(-1, 0, by));
    return after ? at::cat({t.slice_symint(-1, by), ones}, -1) : at::cat({ones, t.slice_symint(-1, 0, n - by)}, -1);
  };
  if (n == 0) return x;
  at::Tensor scan = shifted(x, 1);
  for (c10::SymInt by = 1; by < n; by *= 2) scan = scan * shifted(scan, by);
  return scan;
}

// d prod / d self, element by element: the product of the others.
at::Tensor product_of_others(const Reduction& r, const at::Tensor& self, const at::Tensor& result) {
  if (self.dim() == 0) return at::ones_like(self);
  if (!at::GradMode::is_enabled()) {
    // Not to be differentiated again: one division, with the products of zeros told apart by counting them. A zero
    // times an Inf or a NaN among the others is NaN.
    const at::Tensor zero = self == 0, infinite = at::isfinite(self).logical_not();
    const at::Tensor zeros = reduce(r, Op::Sum, zero, true);
    const at::Tensor infinite_others = reduce(r, Op::Sum, infinite, true) - infinite.to(at::kLong);
    const at::Tensor nonzero = reduce(r, Op::Prod, self.masked_fill(zero, 1), true, result.scalar_type());
    const at::Tensor none = at::zeros({}, nonzero.options());
    const at::Tensor nothing = at::where(infinite_others == 0, none, at::full_like(none, NAN));
    return at::where(zeros == 0, nonzero / self, at::where((zeros == 1).logical_and(zero), nonzero, nothing));
  }
  // The reduced dims as one, in last place.
  std::vector<int64_t> order;
  std::vector<c10::SymInt> flat;
  std::vector<c10::SymInt> moved;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::find(r.dims.begin(), r.dims.end(), d) == r.dims.end()) {
      order.push_back(d);
      flat.push_back(self.sym_size(d));
    }
  }
  moved = flat;
  flat.push_back(count(r, self.sym_sizes()));
  for (const int64_t d : r.dims) {
    order.push_back(d);
    moved.push_back(self.sym_size(d));
  }
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  const at::Tensor x = self.to(result.scalar_type()).permute(order).reshape_symint(flat);
  return (exclusive_products(x, false) * exclusive_products(x, true)).reshape_symint(moved).permute(back);
}

// Where the extreme value stands. Elements that tie share a gradient evenly, as torch's amax and amin have it.
at::Tensor find_ties(const Reduction& r, const at::Tensor& self, const at::Tensor& result) {
  return self == with_reduced_dims(r, result, self.dim());
}

// x / count, where `count` is an integer tensor: at least in fp32, as fp16 and bf16 do not hold every count.
at::Tensor divide_by_count(const at::Tensor& x, const at::Tensor& count) {
  return (x.to(at::toOpMathType(x.scalar_type())) / count).to(x.scalar_type());
}

}  // namespace

Reduction describe(const Request& r, int64_t ndim) {
  Reduction reduction{r.op, {}, r.keepdim, std::string(r.mode)};
  const DimMask mask = reduced_dims(r, ndim);
  for (int64_t d = 0; d < ndim; ++d) {
    if (mask.reduced[d]) reduction.dims.push_back(d);
  }
  return reduction;
}

Reads reads_of(Op op) {
  switch (op) {
    case Op::Sum:
    case Op::Mean:
      return {false, false};
    case Op::Sumsq:
      return {true, false};
    case Op::Prod:
    case Op::Max:
    case Op::Min:
      return {true, true};
  }
  TORCH_INTERNAL_ASSERT(false, "no derivative of ", name(op));
}

// What is done once per output comes before what is done once per element; sum and mean give views.
at::Tensor backward(const Reduction& r, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& result,
                    c10::SymIntArrayRef sizes, at::ScalarType type) {
  const at::Tensor g = with_reduced_dims(r, grad, static_cast<int64_t>(sizes.size()));
  switch (r.op) {
    case Op::Sum:
      return g.to(type).expand_symint(sizes);
    case Op::Mean:
      return (g / count(r, sizes)).to(type).expand_symint(sizes);
    case Op::Prod:
      return (g * product_of_others(r, self, result)).to(type);
    case Op::Sumsq:
      return (2 * g * self.to(g.scalar_type())).to(type);
    case Op::Max:
    case Op::Min: {
      const at::Tensor ties = find_ties(r, self, result);
      return divide_by_count(g, reduce(r, Op::Sum, ties, true)) * ties;
    }
  }
  TORCH_INTERNAL_ASSERT(false, "no derivative of ", name(r.op));
}

at::Tensor forward(const Reduction& r, const at::Tensor& tangent, const at::Tensor& self, const at::Tensor& result) {
  const auto sum = [&](const at::Tensor& x) { return reduce(r, Op::Sum, x, r.keepdim, result.scalar_type()); };
  switch (r.op) {
    case Op::Sum:
      return sum(tangent);
    case Op::Mean:
      return sum(tangent) / count(r, self.sym_sizes());
    case Op::Prod:
      return sum(tangent * product_of_others(r, self, result));
    case Op::Sumsq:
      return sum(2 * tangent.to(result.scalar_type()) * self.to(result.scalar_type()));
    case Op::Max:
    case Op::Min: {
      const at::Tensor ties = find_ties(r, self, result);
      return divide_by_count(sum(tangent * ties), reduce(r, Op::Sum, ties, r.keepdim));
    }
  }
  TORCH_INTERNAL_ASSERT(false, "no derivative of ", name(r.op));
}

}  // namespace torch_reduce
