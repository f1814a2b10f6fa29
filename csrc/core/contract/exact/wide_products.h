// Products of fp64 numbers, of which each has 106 bits, and all have twice a double's range of exponents.
#pragma once

#include "core/contract/exact/format.h"
#include "core/contract/exponential.h"

namespace torch_reduce::exact {

// A superaccumulator of them, from the square of the smallest subnormal on.
using Products = Format<133, 2 * Double::kLowest>;

// A sum as a few doubles, the exact one, or as a few vectors of them. It takes 2^20 products and what is left of each.
template <class T = double>
struct Expansion {
  static constexpr int kTerms = 4;
  T term[kTerms] = {};

  // Adds x from one of the terms on: what the rounded sum of two doubles lacks is a double (D. E. Knuth), which the
  // next term takes. Returns what is left for elsewhere, mostly nothing.
  template <int First = 0>
  TR_HD T add(T x) {
    TR_UNROLL
    for (int i = First; i < kTerms; ++i) {
      const T sum = term[i] + x, of_x = sum - term[i];
      x = (term[i] - (sum - of_x)) + (x - of_x);
      term[i] = sum;
      if constexpr (!order::ScaleOf<T>::is_vector) {
        if (x == 0) break;
      }
    }
    return x;
  }
};

// Whether a product is two doubles that an expansion takes, itself rounded and the rest: the last of its 106 bits is a
// double from some magnitude on, and a factor that is zero leaves no bits. In each lane.
template <class T>
TR_HD auto is_two_doubles(T a, T b, T product) {
  const T zero{}, magnitude = order::magnitude_of(product);
  const auto is_nothing = (product == zero) & ((a == zero) | (b == zero));
  return is_nothing | ((magnitude >= zero + 0x1p-960) & (magnitude <= zero + 0x1p990));
}
template <class T>
TR_HD T rest_of(T a, T b, T product) {
  return multiply_add(a, b, -product);
}

// Calls add(digit, piece) for the pieces of any finite product.
template <class Add>
TR_HD void split_product(double a, double b, Add add) {
  const Parts x = parts_of(a), y = parts_of(b);
  split_wide<Products>(static_cast<Int128>(x.k) * y.k, x.exponent + y.exponent, add);
}

}  // namespace torch_reduce::exact
