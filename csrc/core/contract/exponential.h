// exp and log as fixed sequences of IEEE operations, so that every device and instruction set has the same bits. T is
// float, double, or a vector of one of them.
//
// The range is reduced by powers of two, as in W. J. Cody and W. Waite, "Software Manual for the Elementary Functions",
// 1980; the polynomials are minimax ones, by Remez' algorithm.
#pragma once

#include <torch_reduce/scaled.h>

#include <limits>

#include "core/contract/numeric.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace torch_reduce {

// a * b + c, rounded once. In software where a CPU has no such instruction.
template <class T>
TR_HD T multiply_add(T a, T b, T c) {
  constexpr bool is_float = std::is_same<std::decay_t<decltype(order::ScaleOf<T>::kLimit)>, float>::value;
  if constexpr (!order::ScaleOf<T>::is_vector) {
    if constexpr (is_float) {
      return __builtin_fmaf(a, b, c);
    } else {
      return __builtin_fma(a, b, c);
    }
#if defined(__AVX512F__)
  } else if constexpr (sizeof(T) == 64 && is_float) {
    return (T)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  } else if constexpr (sizeof(T) == 64) {
    return (T)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#endif
#if defined(__FMA__)
  } else if constexpr (sizeof(T) == 32 && is_float) {
    return (T)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  } else if constexpr (sizeof(T) == 32) {
    return (T)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
  } else {
    T lanes{};
    for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(a[0])); ++i) lanes[i] = multiply_add(a[i], b[i], c[i]);
    return lanes;
  }
}

// The polynomial with these coefficients, that of the highest power first, by Horner's rule.
template <class T, class Word, int Count>
TR_HD T polynomial(const Word (&power)[Count], T x) {
  T y = T{} + power[0];
  TR_UNROLL
  for (int i = 1; i < Count; ++i) y = multiply_add(y, x, T{} + power[i]);
  return y;
}

template <class Word>
struct ExpOf;
template <>
struct ExpOf<float> {
  static constexpr float kLog2e = 0x1.715476p+0f, kMagic = 0x1.8p+23f;  // adding it rounds to an integer
  static constexpr float kLn2Hi = 0x1.62e43p-1f, kLn2Lo = -0x1.05c61p-29f, kExpOfMinus64 = 0x1.969d48p-93f;
  static constexpr int kFraction = 23;
  // (exp(r) - 1 - r) / r^2; the error is 3e-9 of exp(r).
  template <class T>
  static TR_HD T rest(T r) {
    constexpr float kPowers[] = {0x1.6a242ep-10f, 0x1.1239e2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f};
    return polynomial(kPowers, r);
  }
};
template <>
struct ExpOf<double> {
  static constexpr double kLog2e = 0x1.71547652b82fep+0, kMagic = 0x1.8p+52;
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kExpOfMinus64 = 0x1.969d47321e4ccp-93;
  static constexpr int kFraction = 52;
  // The error is 4e-18.
  template <class T>
  static TR_HD T rest(T r) {
    constexpr double kPowers[] = {0x1.ad7f6b5dc2fc3p-26, 0x1.28ad72bf7e3c9p-22, 0x1.71df255430ed2p-19,
                                  0x1.a0199a0c78973p-16, 0x1.a01a012a57064p-13, 0x1.6c16c1842a09fp-10,
                                  0x1.1111111127be6p-7,  0x1.555555555087dp-5,  0x1.55555555554fap-3,
                                  0x1.000000000000ap-1};
    return polynomial(kPowers, r);
  }
};

// exp(x) of |x| <= 88, of doubles 700, within 1 ulp; of others, anything. exp(0) is 1.
template <class T>
TR_HD T exp_of_near(T x) {
  using Scale = order::ScaleOf<T>;
  using E = ExpOf<std::decay_t<decltype(Scale::kLimit)>>;
  const T zero{}, one = zero + 1, magic = zero + E::kMagic;
  const T shifted = multiply_add(x, zero + E::kLog2e, magic), k = shifted - magic;
  const T r = multiply_add(k, zero - E::kLn2Lo, multiply_add(k, zero - E::kLn2Hi, x));
  T y = multiply_add(multiply_add(E::rest(r), r, one), r, one);
  // Times 2^k, which are the last bits of what was shifted.
  typename Scale::Exponent bits, exponent;
  __builtin_memcpy(&bits, &y, sizeof(T));
  __builtin_memcpy(&exponent, &shifted, sizeof(T));
  if constexpr (Scale::is_vector) {
    bits += exponent << E::kFraction;
  } else {
    using Bits = std::make_unsigned_t<typename Scale::Exponent>;
    bits = static_cast<Bits>(bits) + (static_cast<Bits>(exponent) << E::kFraction);
  }
  __builtin_memcpy(&y, &bits, sizeof(T));
  return y;
}

// log(x) of a positive normal number, within 2 ulp. log(1) is 0.
TR_HD double log_of_positive(double x) {
  // x = 2^k m, m between the roots of 1/2 and 2. Far above the exponent of any x, k is a double's last bits.
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kFraction = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kAbove = 1024, kMagic = 0x4330000000000000;  // of 2^52
  const uint64_t above = bit_cast<uint64_t>(x) - kRootOfHalf;
  const double k = bit_cast<double>(((above + (kAbove << 52)) >> 52) | kMagic) - (0x1p52 + kAbove);
  const double m = bit_cast<double>((above & kFraction) + kRootOfHalf);
  // log(m) = 2 artanh(t), t = (m - 1) / (m + 1): 2 t + t w P(w), w = t^2. The error is 2e-18.
  constexpr double kPowers[] = {0x1.2f0d8d08d0b60p-3, 0x1.39a0f5267afafp-3, 0x1.7466462b53c4bp-3, 0x1.c71c51e7fc28ap-3,
                                0x1.24924942179d9p-2, 0x1.999999997fb31p-2, 0x1.5555555555593p-1};
  const double t = (m - 1) / (m + 1), w = t * t;
  const double rest = multiply_add(t * w, polynomial(kPowers, w), k * ExpOf<double>::kLn2Lo);
  return multiply_add(k, ExpOf<double>::kLn2Hi, 2 * t + rest);
}
// The same; infinity and NaN of themselves.
TR_HD double log_of_normal(double x) { return x < std::numeric_limits<double>::infinity() ? log_of_positive(x) : x; }

}  // namespace torch_reduce
