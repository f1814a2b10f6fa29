// Products whose exponent has no end: a significand, and a count of the powers of two that were taken out of it.
#ifndef TORCH_REDUCE_SCALED_H_
#define TORCH_REDUCE_SCALED_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ieee.h"

namespace torch_reduce::order {

// Of float, double, or a vector of one of them. Two values in [1 / kLimit, kLimit) have a normal product, and kUnit =
// kLimit^2 or its inverse brings that back.
template <class T>
struct ScaleOf : ScaleOf<std::decay_t<decltype(T{}[0])>> {
  static constexpr bool is_vector = true;
  using Exponent = decltype(T{} < T{});
};
template <>
struct ScaleOf<float> {
  static constexpr bool is_vector = false;
  using Exponent = int32_t;
  static constexpr float kLimit = 0x1p63f, kUnit = 0x1p126f;
};
template <>
struct ScaleOf<double> {
  static constexpr bool is_vector = false;
  using Exponent = int64_t;
  static constexpr double kLimit = 0x1p511, kUnit = 0x1p1022;
};

// significand * kUnit^exponent. The significand is in [1 / kLimit, kLimit), or zero, infinite or NaN. So a product
// rounds as it would with exponents of any size, wherever the scale has changed.
template <class T>
struct Scaled {
  using Word = T;
  using Exponent = typename ScaleOf<T>::Exponent;
  T significand;
  Exponent exponent;
};

// Beyond, an exponent stays: the product of 2^29 elements of fp32 does not get there, nor that of any number of fp64.
template <class Exponent>
constexpr Exponent kLastExponent = (Exponent(1) << (8 * sizeof(Exponent) - 2)) - 1;

template <class V>
TORCH_REDUCE_HD V magnitude_of(V vector) {
  using Bits = typename ScaleOf<V>::Exponent;
  using Word = std::make_unsigned_t<std::decay_t<decltype(Bits{}[0])>>;
  constexpr Word all_but_sign = ~Word(0) >> 1;
  return reinterpret_cast<V>(reinterpret_cast<Bits>(vector) & static_cast<std::make_signed_t<Word>>(all_but_sign));
}

// A value brought into the range of a significand by one unit, which is enough for any of T.
template <class T>
TORCH_REDUCE_HD Scaled<T> scaled(T value, typename ScaleOf<T>::Exponent exponent = typename ScaleOf<T>::Exponent{}) {
  using Scale = ScaleOf<T>;
  const T zero{}, limit = zero + Scale::kLimit, least = zero + 1 / Scale::kLimit;
  const T down = zero + 1 / Scale::kUnit, up = zero + Scale::kUnit;
  const T magnitude = magnitude_of(value);
  const auto is_large = magnitude >= limit, is_small = magnitude < least;
  if constexpr (Scale::is_vector) {  // comparisons give -1
    return {value * (is_large ? down : (is_small ? up : zero + 1)), exponent - is_large + is_small};
  } else {
    if (is_large) value = multiply(value, down), ++exponent;
    if (is_small) value = multiply(value, up), --exponent;
    return {value, exponent};
  }
}

template <class T>
TORCH_REDUCE_HD Scaled<T> multiply(Scaled<T> a, Scaled<T> b) {
  auto exponent = a.exponent + b.exponent;
  if constexpr (ScaleOf<T>::is_vector) {  // those hold no more than a chunk
    return scaled(a.significand * b.significand, exponent);
  } else {
    constexpr auto kLast = kLastExponent<typename ScaleOf<T>::Exponent>;
    exponent = exponent > kLast ? kLast : exponent < -kLast ? -kLast : exponent;
    return scaled(multiply(a.significand, b.significand), exponent);
  }
}

// As a double. Of floats it is exact in their range, and so far beyond it that it rounds to infinity or to zero; of
// doubles it is rounded once.
template <class T>
TORCH_REDUCE_HD double value_of(Scaled<T> a) {
  constexpr double kUnit = ScaleOf<T>::kUnit;
  const double factor = a.exponent > 0 ? kUnit : 1 / kUnit;
  const auto units = a.exponent > 0 ? a.exponent : -a.exponent;
  double value = a.significand;
  for (int i = 0; i < 4; ++i) {
    if (i < units) value = multiply(value, factor);
  }
  return value;
}

}  // namespace torch_reduce::order

#endif  // TORCH_REDUCE_SCALED_H_
