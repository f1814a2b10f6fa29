// Products of a few elements, multiplied as they are: most need no exponent of their own.
#pragma once

#include <limits>

#include "core/contract/operators.h"
#include "core/contract/order.h"

namespace torch_reduce {

// Multiplies like an operator, and keeps the least magnitude on the way. Overflow and NaN show in the last product of
// all; underflow does not, even if it rounds up to the least normal number.
template <class T>
struct PlainProducts : Traits {
  T least = std::numeric_limits<T>::infinity();

  TR_HD T combine(T a, T b) {
    const T product = order::multiply(a, b);
    least = smaller(least, order::magnitude(product));
    return product;
  }
  // Whether each of the last products is the significand that scaled ones have, which is so if the exponent is zero.
  template <int Count>
  TR_HD bool are_significands(const T (&product)[Count]) const {
    using Scale = order::ScaleOf<T>;
    bool are = least > std::numeric_limits<T>::min();
    TR_UNROLL
    for (const T& p : product) {
      const T magnitude = order::magnitude(p);
      are = are && magnitude >= 1 / Scale::kLimit && magnitude < Scale::kLimit;
    }
    return are;
  }

 private:
  static TR_HD T smaller(T a, T b) {
#if defined(__CUDA_ARCH__)
    return min(a, b);  // one instruction
#else
    return b < a ? b : a;
#endif
  }
};

template <class O, class Acc>
constexpr bool multiplies_plainly = O::multiplies && !is_scalar<Acc>;

// What f(how, to) makes of elements: it combines them by how.combine(), once or twice, in the compute type first.
template <class O, class Acc, int Count, class F>
TR_HD void combine_elements(Acc (&to)[Count], F f) {
  if constexpr (multiplies_plainly<O, Acc>) {
    PlainProducts<word_of<Acc>> plain;
    word_of<Acc> product[Count];
    f(plain, product);
    if (plain.are_significands(product)) {
      TR_UNROLL
      for (int i = 0; i < Count; ++i) to[i] = {product[i], 0};
      return;
    }
  }
  O op;
  f(op, to);
}

// The tree over N elements, each a leaf: fill(how, x) writes them, as how lifts them, into x.
template <class O, class Acc, int N, class F>
TR_HD Acc tree_of_elements(F fill) {
  Acc root[1];
  combine_elements<O>(root, [&](auto& how, auto& to) {
    std::decay_t<decltype(to[0])> x[N];
    fill(how, x);
    to[0] = tree_by(how, x);
  });
  return root[0];
}

}  // namespace torch_reduce
