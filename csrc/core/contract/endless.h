// float64 whose exponent has no end: what is combined neither overflows nor underflows, and rounds as it would in
// float64 if that had room.
#pragma once

#include <torch_reduce/scaled.h>

#include "core/contract/numeric.h"

namespace torch_reduce {

// An element in the compute type DType::Endless.
struct Endless {
  double value;
};
template <>
struct dtype_of<Endless> {
  static constexpr DType value = DType::Endless;
};

// What is combined of such elements.
struct EndlessSum : order::Scaled<double> {
  using Number = Endless;
};

TR_HD EndlessSum square(Endless x) {
  const auto s = order::scaled(x.value);
  return {order::multiply(s, s)};
}

// The magnitudes whose squares are normal numbers of fp64, and the sums of a chunk's squares too: such sums have the
// same bits in fp64. 0 changes nothing beside them.
constexpr double kLeastPlain = 0x1p-511, kMostPlain = 0x1p480;

// Whether what is combined has an exponent of its own, which has no end.
template <class Acc>
constexpr bool is_scaled = false;
template <class T>
constexpr bool is_scaled<order::Scaled<T>> = true;
template <>
constexpr bool is_scaled<EndlessSum> = true;

// Below all others.
constexpr TR_HD EndlessSum no_square() { return {{0, -order::kLastExponent<int64_t>}}; }

TR_HD EndlessSum of_plain(double sum) { return sum == 0 ? no_square() : EndlessSum{order::scaled(sum)}; }

// Two units apart, the lower one is nothing beside the upper one; but an infinity stays, and so does NaN.
TR_HD EndlessSum add(EndlessSum a, EndlessSum b) {
  const bool a_is_upper = a.exponent > b.exponent;
  const EndlessSum upper = a_is_upper ? a : b, lower = a_is_upper ? b : a;
  const int64_t apart = upper.exponent - lower.exponent;
  constexpr double kDown = 1 / order::ScaleOf<double>::kUnit;
  const double lowered = lower.significand * (apart > 0 ? kDown : 1) * (apart > 1 ? kDown : 1);
  return {order::scaled(upper.significand + lowered, upper.exponent)};
}

// The square root of a sum of squares: of the significand, rounded once, with half the exponent.
TR_HD double root_of(EndlessSum a) {
  constexpr double kRootOfUnit = order::ScaleOf<double>::kLimit;  // kUnit is its square
  double root = __builtin_sqrt(a.significand);
  const double factor = a.exponent > 0 ? kRootOfUnit : 1 / kRootOfUnit;
  const int64_t units = a.exponent > 0 ? a.exponent : -a.exponent;
  for (int i = 0; i < 4; ++i) {
    if (i < units) root *= factor;
  }
  return root;
}

}  // namespace torch_reduce
