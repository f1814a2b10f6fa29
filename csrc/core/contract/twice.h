// Numbers of twice the precision of a compute type: a double for float; for double the sum of two, as in T. J. Dekker,
// "A floating-point technique for extending the available precision", 1971.
#pragma once

#include "core/contract/exponential.h"

namespace torch_reduce {

// T is double, or a vector of doubles.
template <class T>
struct SumOfTwo {
  T high, low;
};
using TwoDoubles = SumOfTwo<double>;
template <class Word>
using Twice = std::conditional_t<std::is_same<Word, float>::value, double, SumOfTwo<Word>>;

TR_HD double in_twice(float x) { return x; }
template <class T>
TR_HD SumOfTwo<T> in_twice(T x) {
  return {x, T{}};
}

// Exact, unless a double overflows, or the lower one underflows.
TR_HD double square(float x) { return static_cast<double>(x) * x; }
template <class T>
TR_HD SumOfTwo<T> square(T x) {
  const T high = x * x;
  return {high, multiply_add(x, x, -high)};
}

// add(a, b) has the bits of add(b, a): what the rounded sum of two doubles lacks is a double (D. E. Knuth).
TR_HD double add(double a, double b) { return a + b; }
template <class T>
TR_HD SumOfTwo<T> add(SumOfTwo<T> a, SumOfTwo<T> b) {
  const T high = a.high + b.high, of_b = high - a.high;
  return {high, (a.low + b.low) + ((a.high - (high - of_b)) + (b.high - of_b))};
}

TR_HD double divide(double sum, double n) { return sum / n; }
TR_HD TwoDoubles divide(TwoDoubles sum, double n) {
  const double high = sum.high / n;
  return {high, (multiply_add(-high, n, sum.high) + sum.low) / n};
}

TR_HD double rounded(double x) { return x; }
TR_HD double rounded(TwoDoubles x) { return x.high + x.low; }

// squares - sum * sum / n, which cancels, as a double.
TR_HD double less_mean_square(double squares, double sum, double n) { return squares - divide(sum, n) * sum; }
TR_HD double less_mean_square(TwoDoubles squares, TwoDoubles sum, double n) {
  const TwoDoubles mean = divide(sum, n);
  const double product = mean.high * sum.high;
  const double rest = multiply_add(mean.high, sum.high, -product) + (mean.high * sum.low + mean.low * sum.high);
  return rounded(add(squares, TwoDoubles{-product, -rest}));
}

}  // namespace torch_reduce
