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
  // Elements of a cache line, or fewer: what is kept of so many sums fits registers.
  static constexpr int kLine = 2 * 64 / sizeof(T) <= kVectorBytes ? 64 / sizeof(T) : kVectorBytes / 2;

  void start(int64_t count) {
    for (int64_t j = 0; j < count; ++j) sum_[j] = 0, high_[j] = 0, low_[j] = kMax;
    if constexpr (has_rest) {
      for (int64_t j = 0; j < count; ++j) error_[j] = 0;
    }
  }

  // x[i][j] to sum j, for the first `count` sums. A call, as these loops would otherwise stand in many places.
  __attribute__((noinline)) void add(const T* const* x, int64_t count) {
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
      const int64_t whole = std::is_same<T, Half>::value ? count / kLanes<double> * kLanes<double> : 0;
      for (int64_t j = 0; j < whole; j += kLanes<double>) {
        const auto at = [j](const T* x) { return load_at<T, double>(reinterpret_cast<const char*>(x + j), 0); };
        const Vector<double> total = load<double>(sum_ + j) + ((at(a) + at(b)) + (at(c) + at(d)));
        __builtin_memcpy(sum_ + j, &total, sizeof(total));
      }
      TR_VECTORIZE
      for (int64_t j = whole; j < count; ++j) {
        sum_[j] += (widen<double>(a[j]) + widen<double>(b[j])) + (widen<double>(c[j]) + widen<double>(d[j]));
      }
    }
  }

  // Consecutive elements, x[i] to sum i % kLine: `steps` times kAtOnce lines of kLine. What is kept of the sums stays
  // in registers. The elements so many bytes ahead are fetched, if any are.
  __attribute__((noinline)) void add_lines(const T* x, int64_t steps, int64_t ahead) {
    using Words = Vector<Bits>;
    using Doubles = Vector<double>;
    constexpr int kWords = kLine / kLanes<Bits>, kDoubles = kLine / kLanes<double>;
    Words high[kWords], low[kWords];
    Doubles sum[kDoubles], error[kDoubles];
    __builtin_memcpy(high, high_, sizeof(high));
    __builtin_memcpy(low, low_, sizeof(low));
    __builtin_memcpy(sum, sum_, sizeof(sum));
    if constexpr (has_rest) __builtin_memcpy(error, error_, sizeof(error));
    for (; steps > 0; --steps, x += kAtOnce * kLine) {
      if (ahead > 0) prefetch_bytes(reinterpret_cast<const char*>(x) + ahead, kAtOnce * kLine * sizeof(T));
      TR_UNROLL
      for (int w = 0; w < kWords; ++w) {
        TR_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          const Words bits = load<Bits>(reinterpret_cast<const Bits*>(x + i * kLine + w * kLanes<Bits>));
          const Words magnitude = bits & kMax, order = zero_last(magnitude);
          high[w] = larger(high[w], magnitude);
          low[w] = smaller(low[w], order);
        }
      }
      TR_UNROLL
      for (int d = 0; d < kDoubles; ++d) {
        Doubles v[kAtOnce];
        TR_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          v[i] = load_at<T, double>(reinterpret_cast<const char*>(x + i * kLine), d * kLanes<double>);
        }
        if constexpr (has_rest) {
          Doubles e[kAtOnce];
          const Doubles ab = two_sum(v[0], v[1], e[0]), cd = two_sum(v[2], v[3], e[1]), all = two_sum(ab, cd, e[2]);
          sum[d] = two_sum(sum[d], all, e[3]);
          error[d] += (e[0] + e[1]) + (e[2] + e[3]);
        } else {
          sum[d] += (v[0] + v[1]) + (v[2] + v[3]);
        }
      }
    }
    __builtin_memcpy(high_, high, sizeof(high));
    __builtin_memcpy(low_, low, sizeof(low));
    __builtin_memcpy(sum_, sum, sizeof(sum));
    if constexpr (has_rest) __builtin_memcpy(error_, error, sizeof(error));
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
  static TR_HD Vector<Bits> zero_last(Vector<Bits> magnitude) {
    using Unsigned = Vector<std::make_unsigned_t<Bits>>;
    constexpr auto kAdded = static_cast<std::make_unsigned_t<Bits>>(kMax);
    return reinterpret_cast<Vector<Bits>>(reinterpret_cast<Unsigned>(magnitude) + kAdded);
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
  template <class V>
  static TR_HD V two_sum(V a, V b, V& error) {
    const V sum = a + b, of_b = sum - a;
    error = (a - (sum - of_b)) + (b - of_b);
    return sum;
  }

  double sum_[kMostSums], error_[has_rest ? kMostSums : 1];
  Bits high_[kMostSums], low_[kMostSums];  // the largest magnitude, and the smallest but for zero
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
