// Products of fp64 numbers, of which each has 106 bits, and all have twice a double's range of exponents.
#pragma once

#include "core/contract/exact/format.h"
#include "core/contract/exponential.h"

namespace torch_reduce::exact {

// A superaccumulator of them, from the square of the smallest subnormal on.
using Products = Format<133, 2 * Double::kLowest>;

// A sum as a few doubles, the exact one. It takes 2^20 products and what is left of each.
struct Expansion {
  static constexpr int kTerms = 4;
  double term[kTerms] = {};

  // Adds x from one of the terms on: what the rounded sum of two doubles lacks is a double (D. E. Knuth), which the
  // next term takes. Returns what is left for elsewhere, mostly nothing.
  template <int First = 0>
  TR_HD double add(double x) {
    TR_UNROLL
    for (int i = First; i < kTerms; ++i) {
      const double sum = term[i] + x, of_x = sum - term[i];
      x = (term[i] - (sum - of_x)) + (x - of_x);
      term[i] = sum;
      if (x == 0) break;
    }
    return x;
  }
};

// Whether a rounded product is one of two doubles whose sum is the product, and which an expansion takes: the last bit
// of 106 is a double then.
TR_HD bool is_one_of_two(double product) {
  const double magnitude = product < 0 ? -product : product;
  return magnitude >= 0x1p-960 && magnitude <= 0x1p990;
}
TR_HD double other_of_two(double a, double b, double product) { return multiply_add(a, b, -product); }

// Whether a rounded product is zero because a factor is.
TR_HD bool is_nothing(double a, double b, double product) { return product == 0 && (a == 0 || b == 0); }

// Calls add(digit, piece) for the pieces of any finite product.
template <class Add>
TR_HD void split_product(double a, double b, Add add) {
  const Parts x = parts_of(a), y = parts_of(b);
  split_wide<Products>(static_cast<Int128>(x.k) * y.k, x.exponent + y.exponent, add);
}

}  // namespace torch_reduce::exact
