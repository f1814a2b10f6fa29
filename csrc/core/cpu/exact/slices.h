// A block of numbers in any range into a superaccumulator, by slices that add without error in a double.
//
// Multiples of one unit 2^u do so while every partial sum stays below 2^(u+53). Adding M = 1.5 * 2^(w+52) rounds a
// number to a multiple of 2^w, subtracting M gives that multiple, a slice, and the rest is exact.
#pragma once

#include <limits>

#include "core/cpu/element/elements.h"
#include "core/cpu/exact/superaccumulator.h"

// Unrolled whole, as GCC would, a loop over a block keeps the block in registers and spills it.
#if defined(__clang__)
#define TR_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TR_ROLLED _Pragma("GCC unroll 1")
#endif

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int kSums = 32;  // sums side by side, so that a loop is not bound by the latency of an addition
// A slice is cut from numbers below 2^(w + kSliceBits), so it has as many bits, and one more for a rounding up to 2^k.
constexpr int kSliceBits = std::numeric_limits<double>::digits - kLogExactBlock - 1;
constexpr int kHighestCut =
    1023 - std::numeric_limits<double>::digits;  // M and the sums stay finite for numbers below 2^kHighestCut
static_assert(-1022 - kSliceBits >= -1074, "every slice's unit is a double");

// Slices enough for every number of fp32's range; of fp64's, what is left after three is added number by number.
template <class F>
constexpr int kSlices = F::kDigits > 10 ? 3 : (128 + 149 + kSliceBits - 1) / kSliceBits;

// The sum over the lanes, which is exact whatever the order.
TR_HD double total(double* lane) {
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

// A block of numbers in any range, which is overwritten with what the slices leave.
template <class F>
void add_in_slices(double* __restrict x, Superaccumulator<F>& sum) {
  for (int slice = 0; slice < kSlices<F>; ++slice) {
    int64_t most[kSums] = {};  // as integers, magnitudes order like the numbers, with infinities and NaN at the end
    TR_ROLLED
    for (int64_t i = 0; i < kExactBlock; i += kSums) {
      for (int j = 0; j < kSums; ++j) {
        const int64_t magnitude = bit_cast<int64_t>(x[i + j]) & INT64_MAX;
        most[j] = magnitude > most[j] ? magnitude : most[j];
      }
    }
    int64_t largest = 0;
    for (int j = 0; j < kSums; ++j) largest = most[j] > largest ? most[j] : largest;
    if (largest == 0) return;
    const int above = static_cast<int>(largest >> 52) - 1022;  // all are below 2^above
    if (above > kHighestCut) break;
    const int unit = above - kSliceBits;  // of subnormals too: their exponent field is that of 2^-1022
    const double m = 1.5 * bit_cast<double>(static_cast<uint64_t>(unit + 52 + 1023) << 52);
    double lane[kSums] = {};
    TR_ROLLED
    for (int64_t i = 0; i < kExactBlock; i += kSums) {
      for (int j = 0; j < kSums; ++j) {
        const double cut = (x[i + j] + m) - m;
        x[i + j] -= cut;
        lane[j] += cut;
      }
    }
    sum.add(total(lane));
  }
  for (int64_t i = 0; i < kExactBlock; ++i) sum.add(x[i]);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
