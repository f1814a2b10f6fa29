#include "product_of_others.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "reduce_backward.h"

namespace torch_reduce {
namespace {

// significand * 2^exponent, so that no product leaves the type's range. To autograd the powers of two are constants.
struct Scaled {
  at::Tensor significand, exponent;
};

// x * 2^n rounded once, by two powers, as one may be beyond the type's range. Both are finite, whatever n is.
at::Tensor scale(const at::Tensor& x, const at::Tensor& n) {
  const int64_t largest = (x.scalar_type() == at::kDouble ? std::numeric_limits<double>::max_exponent
                                                          : std::numeric_limits<float>::max_exponent) -
                          2;
  const at::Tensor within = n.clamp(-2 * largest, 2 * largest), half = within.bitwise_right_shift(1);
  const auto power = [&](const at::Tensor& e) { return e.to(x.scalar_type()).exp2(); };
  return x * power(half) * power(within - half);
}

// The same numbers with significands in [1/2, 1), but for zero, Inf and NaN.
Scaled normalize(const Scaled& x) {
  const at::Tensor shift = std::get<1>(at::frexp(x.significand.detach())).to(x.exponent.scalar_type());
  return {scale(x.significand, -shift), x.exponent + shift};
}

Scaled multiply(const Scaled& a, const Scaled& b) { return {a.significand * b.significand, a.exponent + b.exponent}; }

// A product of that many levels of normalized significands, or of its others', is a normal number in every type.
constexpr int kLevels = 5;

// By a tree over the last dim, of a power of two of elements: an element's others are its partner and the others of the
// pair. So a level costs as much as it has elements.
Scaled multiply_others(const Scaled& x, int64_t n, int level = 1) {
  if (n == 1) return {at::ones_like(x.significand), at::zeros_like(x.exponent)};
  const auto part = [&](int64_t begin) {
    return Scaled{x.significand.narrow(-1, begin, n / 2), x.exponent.narrow(-1, begin, n / 2)};
  };
  const Scaled first = part(0), second = part(n / 2), pairs = multiply(first, second);
  const Scaled others = level % kLevels == 0 ? normalize(multiply_others(normalize(pairs), n / 2, level + 1))
                                             : multiply_others(pairs, n / 2, level + 1);
  const Scaled left = multiply(others, second), right = multiply(others, first);
  return {at::cat({left.significand, right.significand}, -1), at::cat({left.exponent, right.exponent}, -1)};
}

// Over the last dim.
at::Tensor by_tree(const at::Tensor& x) {
  const c10::SymInt n = x.sym_size(-1);
  int64_t width = 1;
  while (n > width) width *= 2;
  const at::Tensor padded = at::constant_pad_nd_symint(x, {0, width - n}, 1);
  // The exponent of a product of up to 2^20 elements of any type is within 2^31.
  const auto integers = padded.options().dtype(width > (1 << 20) ? at::kLong : at::kInt);
  const Scaled others = multiply_others(normalize({padded, at::zeros_like(padded, integers)}), width);
  return scale(others.significand, others.exponent).slice_symint(-1, 0, n);
}

at::Tensor compute(const at::Tensor& x) { return by_tree(x).contiguous(); }

at::Tensor without_data(const at::Tensor& x) { return at::empty_symint(x.sym_sizes(), x.options()); }

const auto& handle() {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce::_product_of_others", "")
                             .typed<at::Tensor(const at::Tensor&)>();
  return op;
}

at::Tensor differentiable(c10::DispatchKeySet keys, const at::Tensor& x) {
  if (is_differentiated(x)) return by_tree(x);
  const at::AutoDispatchBelowADInplaceOrView below;
  return handle().redispatch(keys & c10::after_autograd_keyset, x);
}

}  // namespace

at::Tensor product_of_others(const at::Tensor& self, at::IntArrayRef dims, at::ScalarType result) {
  const at::Tensor x = self.to(at::toOpMathType(at::promote_types(self.scalar_type(), result)));
  if (self.dim() == 0) return at::ones_like(x);
  // The reduced dims as one, in last place.
  std::vector<int64_t> order;
  std::vector<c10::SymInt> flat;
  c10::SymInt n = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      order.push_back(d);
      flat.push_back(self.sym_size(d));
    }
  }
  std::vector<c10::SymInt> moved = flat;
  for (const int64_t d : dims) {
    order.push_back(d);
    moved.push_back(self.sym_size(d));
    n *= self.sym_size(d);
  }
  flat.push_back(n);
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return handle().call(x.permute(order).reshape_symint(flat)).reshape_symint(moved).permute(back);
}

TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { m.impl("_product_of_others", TORCH_FN(compute)); }
TORCH_LIBRARY_IMPL(reduce, Meta, m) { m.impl("_product_of_others", TORCH_FN(without_data)); }
TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_product_of_others", TORCH_FN(differentiable)); }

}  // namespace torch_reduce
