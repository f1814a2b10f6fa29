// Sums that a double or two hold without error, or their quotients by the number of elements, rounded once.
#pragma once

#include "core/cpu/element/elements.h"

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
TR_HD void round_sums(const Sums& sums, int64_t count, int log_n, double divisor, double* __restrict value,
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

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
