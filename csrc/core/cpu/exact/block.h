// A block of elements as doubles that add without error, and those into a superaccumulator.
//
// Numbers that are multiples of one unit 2^u add exactly in a double while every partial sum stays below 2^(u+53).
// Where a block's exponents lie close together, that holds for its elements as they are. Else slices are cut off:
// adding M = 1.5 * 2^(w+52) rounds a number to a multiple of 2^w, subtracting M gives that multiple, and the rest is
// exact.
#pragma once

#include "core/contract/exact/round.h"
#include "core/cpu/element/elements.h"

// Unrolled whole, as GCC would, a loop over a block keeps the block in registers and spills it.
#if defined(__clang__)
#define TR_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TR_ROLLED _Pragma("GCC unroll 1")
#endif

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int kBlockBits = 10;
constexpr int64_t kBlock = 1 << kBlockBits;
constexpr int kSums = 32;  // sums side by side, so that a loop is not bound by the latency of an addition
constexpr int kExact = 53;
// A slice is cut from numbers below 2^(w + kSliceBits), so it has as many bits, and one more for a rounding up to 2^k.
constexpr int kSliceBits = kExact - kBlockBits - 1;
constexpr int kHighestCut = 1023 - kExact;  // M and the sums stay finite for numbers below 2^kHighestCut
static_assert(-1022 - kSliceBits >= -1074, "every slice's unit is a double");
constexpr int64_t kAddsPerCarry = 1 << 30;  // words have room for 2^31 pieces of 32 bits

template <class T>
struct Ieee;  // bits of the fraction, exponent bias
template <>
struct Ieee<Half> {
  using Bits = uint16_t;
  static constexpr int kFraction = 10, kBias = 15;
};
template <>
struct Ieee<BFloat16> {
  using Bits = uint16_t;
  static constexpr int kFraction = 7, kBias = 127;
};
template <>
struct Ieee<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23, kBias = 127;
};
template <>
struct Ieee<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52, kBias = 1023;
};

// Slices enough for every number of fp32's range; of fp64's, what is left after three is added number by number.
template <class F>
constexpr int kSlices = F::kDigits > 10 ? 3 : (128 + 149 + kSliceBits - 1) / kSliceBits;

// The sum of an output's elements, or of a piece of them.
template <class F>
struct Superaccumulator {
  int64_t word[F::kWords] = {};
  int64_t adds = 0;

  void add(double x) {
    if (x == 0) return;
    if (exact::is_special(x)) {
      ++word[F::kDigits + exact::special_of(x)];
      return;
    }
    if (++adds == kAddsPerCarry) carry();
    exact::split<F>(x, [&](int digit, int64_t piece) { word[digit] += piece; });
  }
  void carry() {
    exact::normalize<F>(word);
    adds = 1;  // as much as one number
  }
};

// The sum over the lanes, which is exact whatever the order.
TR_HD double total(double* lane) {
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

// Numbers in any range: `x` is overwritten with what the slices leave.
template <class F>
void add_in_slices(double* __restrict x, Superaccumulator<F>& sum) {
  for (int slice = 0; slice < kSlices<F>; ++slice) {
    double most[kSums] = {};
    TR_ROLLED
    for (int64_t i = 0; i < kBlock; i += kSums) {
      for (int j = 0; j < kSums; ++j) {
        const double magnitude = x[i + j] < 0 ? -x[i + j] : x[i + j];
        most[j] = magnitude > most[j] ? magnitude : most[j];
      }
    }
    double largest = 0;
    for (int j = 0; j < kSums; ++j) largest = most[j] > largest ? most[j] : largest;
    if (largest == 0) return;
    const int above = static_cast<int>(bit_cast<uint64_t>(largest) >> 52) - 1022;  // largest < 2^above
    if (above > kHighestCut) break;
    const int unit = above - kSliceBits;  // of subnormals too: their exponent field is that of 2^-1022
    const double m = 1.5 * bit_cast<double>(static_cast<uint64_t>(unit + 52 + 1023) << 52);
    double lane[kSums] = {};
    TR_ROLLED
    for (int64_t i = 0; i < kBlock; i += kSums) {
      for (int j = 0; j < kSums; ++j) {
        const double cut = (x[i + j] + m) - m;
        x[i + j] -= cut;
        lane[j] += cut;
      }
    }
    sum.add(total(lane));
  }
  for (int64_t i = 0; i < kBlock; ++i) sum.add(x[i]);
}

// Adds kBlock elements. Lines `prefetch` bytes ahead are fetched unless it is 0.
template <class T, class F>
void add_block(const T* __restrict x, int64_t prefetch, Superaccumulator<F>& sum) {
  using Bits = typename Ieee<T>::Bits;
  using Signed = std::make_signed_t<Bits>;
  constexpr int kFraction = Ieee<T>::kFraction;
  constexpr Signed kMagnitude = static_cast<Signed>(static_cast<Bits>(~Bits{0}) >> 1);
  constexpr Signed kInf = static_cast<Signed>((2 * Ieee<T>::kBias + 1)) << kFraction;

  Signed high[kSums] = {};
  Bits low[kSums];  // of magnitudes minus one, so that zeros are out of the way
  for (int j = 0; j < kSums; ++j) low[j] = static_cast<Bits>(~Bits{0});
  TR_ROLLED
  for (int64_t i = 0; i < kBlock; i += kSums) {
    if (prefetch) prefetch_bytes(reinterpret_cast<const char*>(x + i) + prefetch, kSums * sizeof(T));
    for (int j = 0; j < kSums; ++j) {
      Signed magnitude;
      __builtin_memcpy(&magnitude, x + i + j, sizeof(magnitude));
      magnitude = static_cast<Signed>(magnitude & kMagnitude);
      high[j] = magnitude > high[j] ? magnitude : high[j];
      if constexpr (sizeof(T) < 8) {
        const Bits less = static_cast<Bits>(magnitude - 1);
        low[j] = less < low[j] ? less : low[j];
      }
    }
  }
  Signed largest = 0;
  Bits smallest = static_cast<Bits>(~Bits{0});
  for (int j = 0; j < kSums; ++j) {
    largest = high[j] > largest ? high[j] : largest;
    smallest = low[j] < smallest ? low[j] : smallest;
  }
  if (largest == 0) return;
  if (largest >= kInf) {
    for (int64_t i = 0; i < kBlock; ++i) sum.add(widen<double>(x[i]));
    return;
  }

  if constexpr (sizeof(T) < 8) {
    const int top = static_cast<int>(largest >> kFraction);
    const int bottom = static_cast<int>(static_cast<Bits>(smallest + 1) >> kFraction);
    // Exponent fields: a subnormal's unit is that of the smallest normal numbers.
    if ((top < 1 ? 1 : top) - (bottom < 1 ? 1 : bottom) + kFraction + 1 + kBlockBits <= kExact) {
      double lane[kSums] = {};
      TR_ROLLED
      for (int64_t i = 0; i < kBlock; i += kSums) {
        for (int j = 0; j < kSums; ++j) lane[j] += widen<double>(x[i + j]);
      }
      return sum.add(total(lane));
    }
  }
  double wide[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) wide[i] = widen<double>(x[i]);
  add_in_slices(wide, sum);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
