// Sums of powers |x|^p of any order p, and their roots, by fixed sequences of IEEE operations: exp and log in twice the
// precision, or in fp64 where that has room for elements, order and sums.
#pragma once

#include <limits>

#include "core/contract/accumulator.h"
#include "core/contract/endless.h"
#include "core/contract/traits.h"
#include "core/contract/twice.h"

namespace torch_reduce {

// An element and the order of the norm. Sum is what is combined of its powers: a PowerSum, or a double.
template <class Sum>
struct Raised {
  double value, order;
};
struct PowerSum : order::Scaled<double> {
  using Number = Raised<PowerSum>;
};
template <>
struct dtype_of<Raised<PowerSum>> {
  static constexpr DType value = DType::Endless;
};

// Sums of powers of these orders, of elements of up to 32 bits, are far from the ends of fp64.
constexpr double kMostPlainOrder = 6;
constexpr bool has_plain_powers(double order) { return -kMostPlainOrder <= order && order <= kMostPlainOrder; }

// Such a power of a magnitude, of a whole order: the product of those factors that the bits of its size name.
TR_HD double whole_power(double magnitude, int size) {
  const double square = magnitude * magnitude, fourth = square * square;
  return ((size & 1) != 0 ? magnitude : 1) * ((size & 2) != 0 ? square : 1) * ((size & 4) != 0 ? fourth : 1);
}
// Of an order that is not whole. Without a branch, so that loops over it vectorise.
TR_HD double real_power(double magnitude, double order) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_usual = magnitude > 0 && magnitude < kInfinity;
  const double power = exp_of_near(order * log_of_positive(is_usual ? magnitude : 1));
  const double end = (magnitude == 0) == (order > 0) ? 0 : kInfinity;
  return is_usual ? power : magnitude != magnitude ? magnitude : end;
}
// The size of an order that is whole; else 0.
TR_HD int whole_size(double order) {
  const double size = order::magnitude_of(order);
  return size == static_cast<int>(size) ? static_cast<int>(size) : 0;
}

TR_HD TwoDoubles sum_of_two(double a, double b) {
  const double high = a + b, of_b = high - a;
  return {high, (a - (high - of_b)) + (b - of_b)};
}
TR_HD TwoDoubles times(TwoDoubles a, TwoDoubles b) {
  const double high = a.high * b.high;
  return {high, multiply_add(a.high, b.high, -high) + (a.high * b.low + a.low * b.high)};
}
TR_HD TwoDoubles plus(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles sum = sum_of_two(a.high, b.high);
  return sum_of_two(sum.high, sum.low + (a.low + b.low));
}

// The binary logarithm of a positive, finite number, and an integer that is added. The error is 2^-68 of the first.
TR_HD TwoDoubles log2_in_two(double x, int64_t more = 0) {
  const bool is_small = x < std::numeric_limits<double>::min();
  if (is_small) x *= 0x1p54;
  // x = 2^k m, m between the roots of 1/2 and 2.
  constexpr int64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kFraction = (int64_t{1} << 52) - 1;
  const int64_t above = bit_cast<int64_t>(x) - kRootOfHalf;
  const double k = static_cast<double>((above >> 52) - (is_small ? 54 : 0) + more);
  const double m = bit_cast<double>((above & kFraction) + kRootOfHalf);
  // log2(m) = 2 / log(2) artanh(t), t = (m - 1) / (m + 1), and artanh(t) = t (1 + w (1/3 + w (1/5 + w B(w)))), w = t^2:
  // Taylor's series, of which two coefficients are sums of two.
  const TwoDoubles below = sum_of_two(1, m);
  const double above_one = m - 1, high = above_one / below.high;
  const TwoDoubles t{high, (multiply_add(-high, below.high, above_one) - high * below.low) / below.high};
  const TwoDoubles w = times(t, t);
  constexpr double kPowers[] = {1. / 27, 1. / 25, 1. / 23, 1. / 21, 1. / 19, 1. / 17,
                                1. / 15, 1. / 13, 1. / 11, 1. / 9,  1. / 7};
  constexpr TwoDoubles kFifth{0x1.999999999999ap-3, -0x1.999999999999ap-57};
  constexpr TwoDoubles kThird{0x1.5555555555555p-2, 0x1.5555555555555p-56};
  constexpr TwoDoubles kTwoOverLn2{0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55};
  TwoDoubles sum = plus(kFifth, {w.high * polynomial(kPowers, w.high), 0});
  sum = plus(kThird, times(w, sum));
  sum = plus({1, 0}, times(w, sum));
  return plus({k, 0}, times(kTwoOverLn2, times(t, sum)));
}

// 2^y as a significand and units of its exponent, within 2 ulp; |y| < 2^51.
TR_HD order::Scaled<double> exp2_of(TwoDoubles y) {
  constexpr double kMagic = ExpOf<double>::kMagic, kLn2Hi = ExpOf<double>::kLn2Hi, kLn2Lo = ExpOf<double>::kLn2Lo;
  constexpr double kUnit = 1022;  // the logarithm of order::ScaleOf<double>::kUnit
  const double k = (y.high + kMagic) - kMagic, fraction = (y.high - k) + y.low;
  const double power = fraction * kLn2Hi;
  const double rest = multiply_add(fraction, kLn2Hi, -power) + fraction * kLn2Lo;
  const double exponential = exp_of_near(power), value = multiply_add(exponential, rest, exponential);
  const auto units = static_cast<int64_t>(k / kUnit);
  const int64_t left = static_cast<int64_t>(k) - units * static_cast<int64_t>(kUnit);  // less than a unit
  const int64_t half = left / 2;
  const double scale = bit_cast<double>(static_cast<uint64_t>(1023 + half) << 52);
  const double other = bit_cast<double>(static_cast<uint64_t>(1023 + left - half) << 52);
  const order::Scaled<double> scaled = order::scaled(value * scale, units);
  return order::scaled(scaled.significand * other, scaled.exponent);
}

// From there on a norm is that of an infinite order: n^(1 / order) is lost.
constexpr double kInfiniteOrder = 0x1p40;

// The norm of an order that is neither 0 nor infinite.
struct NormOfOrder : Traits {
  template <class Word>
  struct SumOf {
    using type = std::conditional_t<std::is_same<Word, Endless>::value, PowerSum, Word>;
  };
  template <class Sum>
  struct SumOf<Raised<Sum>> {
    using type = Sum;
  };
  template <class Word>
  using Accumulator = typename SumOf<Word>::type;
  static constexpr Gives gives = Gives::Floating;
  static constexpr bool lifts = true;
  static constexpr bool masks_missing = true;  // 0 is no identity where the order is negative
  static constexpr bool is_real = true;
  static constexpr bool refuses_integers = true;
  static constexpr bool computes_wider = true, has_wider_kernels = true;
  static constexpr bool has_correction = true;
  static constexpr bool has_order = true;
  static constexpr bool has_few_kernels = true;
  static constexpr bool widens_on_cuda = true;
  // Of an order that is not whole, or negative. A call on a GPU, as most orders are neither.
  static TR_DEVICE_CALL double other_power(double magnitude, double order) {
    const int size = whole_size(order);
    return size != 0 ? 1 / whole_power(magnitude, size) : real_power(magnitude, order);
  }
  static TR_HD double lift(Raised<double> x) {
    const double magnitude = order::magnitude_of(x.value);
    const int size = whole_size(x.order);
    return size != 0 && x.order > 0 ? whole_power(magnitude, size) : other_power(magnitude, x.order);
  }
  static TR_DEVICE_CALL PowerSum lift(Raised<PowerSum> x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double magnitude = order::magnitude_of(x.value);
    if (magnitude != magnitude || x.order != x.order) return {{magnitude + x.order, 0}};
    if (magnitude == 0 || magnitude == kInfinity) {
      if ((magnitude == 0) == (x.order > 0)) return identity<PowerSum>();
      return {{kInfinity, int64_t{1} << 60}};
    }
    const TwoDoubles log = log2_in_two(magnitude);
    const double high = log.high * x.order;
    return {exp2_of({high, multiply_add(log.high, x.order, -high) + log.low * x.order})};
  }
  // A missing element is masked, so what is read in its place, a scalar, may be any.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return T(0);
    } else {
      return {no_square()};
    }
  }
  static TR_HD double combine(double a, double b) { return a + b; }
  static TR_HD PowerSum combine(PowerSum a, PowerSum b) { return {add(EndlessSum{a}, EndlessSum{b})}; }
  static TR_DEVICE_CALL double finish(double a, Count count) { return finish(PowerSum{order::scaled(a)}, count); }
  // The count's degrees are the order.
  static TR_DEVICE_CALL double finish(PowerSum a, Count count) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double p = count.degrees, sum = a.significand;
    if (sum != sum || p != p) return count.n == 0 ? 0 : sum + p;
    if (sum == 0 || sum == kInfinity) return (sum == 0) == (p > 0) ? 0 : kInfinity;
    const TwoDoubles log = log2_in_two(sum, 1022 * a.exponent);
    const double high = log.high / p;
    if (!(order::magnitude_of(high) < 2000)) return high > 0 ? kInfinity : 0;
    return order::value_of(exp2_of({high, (multiply_add(-high, p, log.high) + log.low) / p}));
  }
};

}  // namespace torch_reduce
