// Sums side by side, each of up to a block of elements, that know whether they have no error.
#pragma once

#include <limits>

#include "core/cpu/exact/rounding.h"
#include "core/cpu/simd/lanes.h"
#include "core/plan/cpu/exact.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Elements of a sum that are added together: what is kept of it is loaded and stored once for them.
constexpr int kAtOnce = 4;

template <class T>
struct Ieee;  // bits, with a sign; bits of the fraction; exponent bias
template <>
struct Ieee<Half> {
  using Bits = int16_t;
  static constexpr int kFraction = 10, kBias = 15;
};
template <>
struct Ieee<BFloat16> {
  using Bits = int16_t;
  static constexpr int kFraction = 7, kBias = 127;
};
template <>
struct Ieee<float> {
  using Bits = int32_t;
  static constexpr int kFraction = 23, kBias = 127;
};
template <>
struct Ieee<double> {
  using Bits = int64_t;
  static constexpr int kFraction = 52, kBias = 1023;
};

// In a double; of fp64 elements in two, the second of which adds up the errors of the first one's additions (TwoSum).
// That has no error while all elements are multiples of a unit that is not too small.
template <class T>
class Sums {
 public:
  static constexpr bool has_rest = std::is_same<T, double>::value;

  void start(int64_t count) {
    for (int64_t j = 0; j < count; ++j) sum_[j] = 0, high_[j] = 0, low_[j] = kMax;
    if constexpr (has_rest) {
      for (int64_t j = 0; j < count; ++j) error_[j] = 0;
    }
  }

  // x[i][j] to sum j, for the first `count` sums. Calls, as these loops would otherwise stand in many places; where
  // the count is known, it is faster to say so.
  template <int Count = 0>
  __attribute__((noinline)) void add(const T* const* x, int64_t any_count = Count) {
    const int64_t count = Count > 0 ? Count : any_count;
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    TR_VECTORIZE
    for (int64_t j = 0; j < count; ++j) {
      const Bits m[] = {magnitude_of(a[j]), magnitude_of(b[j]), magnitude_of(c[j]), magnitude_of(d[j])};
      high_[j] = larger(high_[j], larger(larger(m[0], m[1]), larger(m[2], m[3])));
      low_[j] = smaller(low_[j],
                        smaller(smaller(zero_last(m[0]), zero_last(m[1])), smaller(zero_last(m[2]), zero_last(m[3]))));
    }
    if constexpr (has_rest) {
      TR_VECTORIZE
      for (int64_t j = 0; j < count; ++j) {
        double e[kAtOnce];
        const double ab = two_sum(a[j], b[j], e[0]), cd = two_sum(c[j], d[j], e[1]), all = two_sum(ab, cd, e[2]);
        sum_[j] = two_sum(sum_[j], all, e[3]);
        error_[j] += (e[0] + e[1]) + (e[2] + e[3]);
      }
    } else {
      // Compilers do not find the conversion of halves, so these are widened a vector at a time.
      const int64_t whole = std::is_same<T, Half>::value ? count / kLanes<float> * kLanes<float> : 0;
      for (int64_t j = 0; j < whole; j += kLanes<float>) {
        const Vector<float> v[] = {load<float>(a + j), load<float>(b + j), load<float>(c + j), load<float>(d + j)};
        add_halves<0>(v, sum_ + j);
        add_halves<1>(v, sum_ + j + kLanes<double>);
      }
      TR_VECTORIZE
      for (int64_t j = whole; j < count; ++j) {
        sum_[j] += (widen<double>(a[j]) + widen<double>(b[j])) + (widen<double>(c[j]) + widen<double>(d[j]));
      }
    }
  }

  // Sums j and j + count become sum j.
  void merge(int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
      high_[j] = larger(high_[j], high_[j + count]);
      low_[j] = smaller(low_[j], low_[j + count]);
    }
    for (int64_t j = 0; j < count; ++j) {
      double error = 0;
      sum_[j] = two_sum(sum_[j], sum_[j + count], error);
      if constexpr (has_rest) error_[j] += error_[j + count] + error;
    }
  }

  // Whether sum j, of up to 2^log_n elements, has no error. They are below 2^top and multiples of 2^(bottom -
  // kFraction - 1): sums are below 2^(top + log_n), and the errors of as many below 2^(top + 2 log_n - 53) together.
  TR_HD bool is_exact(int64_t j, int log_n) const {
    constexpr int kDigits = std::numeric_limits<double>::digits;
    // Exponent fields: a subnormal's unit is that of the smallest normal numbers.
    const int top = larger(static_cast<int>(high_[j] >> kFraction), 1);
    const int bottom = larger(static_cast<int>(zero_first(low_[j]) >> kFraction), 1);
    const int bits = top - bottom + kFraction + 1 + log_n;
    if constexpr (has_rest) return (bits + log_n <= 2 * kDigits) & (top + log_n <= 2 * Ieee<T>::kBias);
    return (bits <= kDigits) & (high_[j] < kInf);
  }
  TR_HD Nearest nearest(int64_t j) const {
    if constexpr (has_rest) {
      double rest;
      const double sum = two_sum(sum_[j], error_[j], rest);
      return {sum, rest};
    }
    return {sum_[j], 0};
  }

 private:
  using Bits = typename Ieee<T>::Bits;
  static constexpr int kFraction = Ieee<T>::kFraction;
  static constexpr Bits kMax = std::numeric_limits<Bits>::max();
  static constexpr Bits kInf = static_cast<Bits>(static_cast<Bits>(2 * Ieee<T>::kBias + 1) << kFraction);

  static TR_HD Bits magnitude_of(const T& x) {
    Bits bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return static_cast<Bits>(bits & kMax);
  }
  // The order of magnitudes, but for zeros, which come last; and back.
  static TR_HD Bits zero_last(Bits magnitude) {
    using Unsigned = std::make_unsigned_t<Bits>;
    return static_cast<Bits>(static_cast<Unsigned>(magnitude) + static_cast<Unsigned>(kMax));
  }
  static TR_HD Bits zero_first(Bits magnitude) {
    using Unsigned = std::make_unsigned_t<Bits>;
    return static_cast<Bits>(static_cast<Unsigned>(magnitude) - static_cast<Unsigned>(kMax));
  }
  template <class U>
  static TR_HD U larger(U a, U b) {
    return a > b ? a : b;
  }
  template <class U>
  static TR_HD U smaller(U a, U b) {
    return a < b ? a : b;
  }
  // The lower (Half 0) or upper (Half 1) lanes of all four.
  template <int Half>
  static TR_HD void add_halves(const Vector<float> (&v)[kAtOnce], double* sum) {
    using Narrow = typename VectorOf<float, kLanes<double>>::type;
    Vector<double> wide[kAtOnce];
    TR_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      Narrow half;
      __builtin_memcpy(&half, reinterpret_cast<const char*>(&v[i]) + Half * sizeof(half), sizeof(half));
      wide[i] = __builtin_convertvector(half, Vector<double>);
    }
    const Vector<double> total = load<double>(sum) + ((wide[0] + wide[1]) + (wide[2] + wide[3]));
    __builtin_memcpy(sum, &total, sizeof(total));
  }
  static TR_HD double two_sum(double a, double b, double& error) {
    const double sum = a + b, of_b = sum - a;
    error = (a - (sum - of_b)) + (b - of_b);
    return sum;
  }

  double sum_[kMostSums], error_[has_rest ? kMostSums : 1];
  Bits high_[kMostSums], low_[kMostSums];  // the largest magnitude, and the smallest but for zero
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
