// Exact sums of a few elements each, of neighbouring outputs side by side. No superaccumulator is filled where a double
// holds the sum without error, or two of them do.
#pragma once

#include "core/cpu/exact/block.h"
#include "core/cpu/tree/leaves.h"
#include "core/plan/cpu/exact.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A number without an error: the nearest double, and what is left, within half of its last place.
struct Nearest {
  double value, rest;
};

// Rounded to odd instead, so that a second rounding, to fewer digits, is the only one.
TR_HD double to_odd(Nearest n) {
  const uint64_t bits = bit_cast<uint64_t>(n.value);
  const bool inwards = (n.rest < 0) != (n.value < 0);
  const uint64_t odd = inwards ? bits - 1 : bits + 1;
  return bit_cast<double>((n.rest != 0) & ((bits & 1) == 0) ? odd : bits);
}

// dividend - quotient * divisor, where the quotient is the nearest one and the divisor is below 2^26: without error, as
// products of its halves have none and cancel.
TR_HD double remainder_of(double dividend, double quotient, double divisor) {
  const double high = bit_cast<double>(bit_cast<uint64_t>(quotient) & ~uint64_t{0x7ffffff});
  return (dividend - high * divisor) - (quotient - high) * divisor;
}
constexpr double kSmallestDividend = 0x1p-900;  // no product of halves underflows

// The sum over the divisor. In `doubt` where what is left is rounded, and its error might decide what is nearest.
TR_HD Nearest divide(Nearest sum, double divisor, bool& doubt) {
  const double quotient = sum.value / divisor, remainder = remainder_of(sum.value, quotient, divisor);
  const double left = remainder + sum.rest, rest = left / divisor, margin = __builtin_fabs(rest) * 0x1p-50;
  const bool is_exact =
      (left - remainder == sum.rest) & (left - sum.rest == remainder) & (remainder_of(left, rest, divisor) == 0);
  const double value = quotient + rest, below = (quotient - value) + rest;
  const bool is_close = (quotient + (rest - margin) != value) | (quotient + (rest + margin) != value) | (below == 0);
  const bool is_small = (sum.value != 0) & (__builtin_fabs(sum.value) < kSmallestDividend);
  doubt = is_small | (!is_exact & is_close);
  return {value, below};
}

// Rounded values of `count` sums, over `divisor`, on their way to a type: nearest for fp64, and to odd for others.
// Where in doubt, a superaccumulator decides.
template <bool Odd, class Sums>
TR_HD void round_few(const Sums& sums, int64_t count, int log_n, double divisor, double* __restrict value,
                     int64_t* __restrict doubts) {
  if (divisor > 1) {
    for (int64_t j = 0; j < count; ++j) {
      bool doubt;
      const Nearest mean = divide(sums.nearest(j), divisor, doubt);
      doubts[j] = !sums.is_exact(j, log_n) | doubt;
      value[j] = (Odd ? to_odd(mean) : mean.value) + 0.0;  // a zero is +0
    }
  } else {
    for (int64_t j = 0; j < count; ++j) {
      doubts[j] = !sums.is_exact(j, log_n);
      value[j] = (Odd && Sums::has_rest ? to_odd(sums.nearest(j)) : sums.nearest(j).value) + 0.0;
    }
  }
}

// Of fp16, bf16 and fp32: plain sums, which are exact while all elements are multiples of a unit that is not too small.
template <class T>
class FewSums {
 public:
  using Bits = typename Ieee<T>::Bits;
  using Signed = std::make_signed_t<Bits>;

  void start(int64_t count) {
    for (int64_t j = 0; j < count; ++j) sum_[j] = 0, high_[j] = 0, low_[j] = static_cast<Bits>(~Bits{0});
  }

  // An element of each output.
  void add(const T* __restrict x, int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
      Signed magnitude;
      __builtin_memcpy(&magnitude, x + j, sizeof(magnitude));
      magnitude = static_cast<Signed>(magnitude & kMagnitude);
      high_[j] = magnitude > high_[j] ? magnitude : high_[j];
      const Bits less = static_cast<Bits>(magnitude - 1);
      low_[j] = less < low_[j] ? less : low_[j];
    }
    if constexpr (std::is_same<T, Half>::value) {
      float wide[kFewOutputs];
      half_to_float(x, count, wide);
      for (int64_t j = 0; j < count; ++j) sum_[j] += wide[j];
    } else {
      for (int64_t j = 0; j < count; ++j) sum_[j] += widen<double>(x[j]);
    }
  }

  static constexpr bool has_rest = false;
  TR_HD bool is_exact(int64_t j, int log_n) const {
    const int top = high_[j] >> kFraction, bottom = static_cast<Bits>(low_[j] + 1) >> kFraction;
    const int octaves = (top > 1 ? top : 1) - (bottom > 1 ? bottom : 1);
    return (high_[j] < kInf) & (octaves + kFraction + 1 + log_n <= kExact);
  }
  TR_HD Nearest nearest(int64_t j) const { return {sum_[j], 0}; }

 private:
  static constexpr int kFraction = Ieee<T>::kFraction;
  static constexpr Signed kMagnitude = static_cast<Signed>(static_cast<Bits>(~Bits{0}) >> 1);
  static constexpr Signed kInf = static_cast<Signed>(2 * Ieee<T>::kBias + 1) << kFraction;

  double sum_[kFewOutputs];
  Signed high_[kFewOutputs];
  Bits low_[kFewOutputs];  // of magnitudes minus one, so that zeros are out of the way
};

// Of fp64: a sum and the errors of its additions (TwoSum), as long as the errors add up exactly.
template <>
class FewSums<double> {
 public:
  void start(int64_t count) {
    for (int64_t j = 0; j < count; ++j) sum_[j] = 0, error_[j] = 0, lost_[j] = 0;
  }
  void add(const double* __restrict x, int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
      double error, lost;
      sum_[j] = two_sum(sum_[j], x[j], error);
      error_[j] = two_sum(error_[j], error, lost);
      lost_[j] |= static_cast<int64_t>(bit_cast<uint64_t>(lost) << 1);  // a zero has no bit but the sign
    }
  }
  static constexpr bool has_rest = true;
  // Sums near the end of the range are left to superaccumulators: with its errors, one may be infinite.
  TR_HD bool is_exact(int64_t j, int) const { return (lost_[j] == 0) & (__builtin_fabs(sum_[j]) < 0x1p1023); }
  TR_HD Nearest nearest(int64_t j) const {
    double rest;
    const double sum = two_sum(sum_[j], error_[j], rest);
    return {sum, rest};
  }

 private:
  static TR_HD double two_sum(double a, double b, double& error) {
    const double sum = a + b, of_b = sum - a;
    error = (a - (sum - of_b)) + (b - of_b);
    return sum;
  }
  double sum_[kFewOutputs], error_[kFewOutputs];
  int64_t lost_[kFewOutputs];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
