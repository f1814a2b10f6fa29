// Products of fp64 numbers, of which each has 106 bits, and all have twice a double's range of exponents.
#pragma once

#include "core/contract/exact/format.h"
#include "core/contract/exponential.h"

namespace torch_reduce::exact {

// A superaccumulator of them, from the square of the smallest subnormal on.
using Products = Format<133, 2 * Double::kLowest>;

// What is rounded off a product: a double, if the last of the product's 106 bits is one, as from some magnitude on.
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
