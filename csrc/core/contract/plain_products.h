// Products of a few elements, multiplied as they are: most need no exponent of their own.
#pragma once

#include <limits>

#include "core/contract/operators.h"
#include "core/contract/order.h"

namespace torch_reduce {

// Multiplies like an operator, and keeps the least magnitude on the way. Overflow and NaN show in the last product of
// all; underflow does not, even if it rounds up to the least normal number. T is a compute type, or a vector of one.
template <class T>
struct PlainProducts : Traits {
  using Scale = order::ScaleOf<T>;
  using Word = std::decay_t<decltype(Scale::kLimit)>;
  T least = T{} + std::numeric_limits<Word>::infinity();

  TR_HD T combine(T a, T b) {
    const T product = times(a, b);
    least = smaller(order::magnitude_of(product), least);
    return product;
  }
  // Whether each of the last products is the significand that scaled ones have, which is so if the exponent is zero; of
  // vectors, in each lane.
  template <int Count>
  TR_HD auto are_significands(const T (&product)[Count]) const {
    const T zero{};
    auto are = least > zero + std::numeric_limits<Word>::min();
    TR_UNROLL
    for (const T& p : product) {
      const T magnitude = order::magnitude_of(p);
      are = are & (magnitude >= zero + 1 / Scale::kLimit) & (magnitude < zero + Scale::kLimit);
    }
    return are;
  }

 private:
  static TR_HD T times(T a, T b) {
    if constexpr (Scale::is_vector) {
      return a * b;
    } else {
      return order::multiply(a, b);
    }
  }
  static TR_HD T smaller(T a, T b) {  // b, if a is NaN
#if defined(__CUDA_ARCH__)
    return min(a, b);  // one instruction
#else
    return a < b ? a : b;
#endif
  }
};

// What f(how, to) makes of elements: it combines them by how.combine(), once or twice, in the compute type first.
template <class O, class Acc, int Count, class F>
TR_HD void combine_elements(Acc (&to)[Count], F f) {
  if constexpr (O::multiplies && !is_scalar<Acc>) {
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
