// Floating extremes as integers: with the bits below the sign flipped where it is set, floats order like integers, +0
// above -0, and a maximum is one instruction where Op::combine takes five. A NaN lies beyond an infinity, on either
// side, so the largest and the smallest key tell of it.
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Bits>
TR_HD Bits ordered_key(Bits bits) {
  if constexpr (std::is_integral<Bits>::value) {
    return bits ^ ((bits >> (8 * sizeof(Bits) - 1)) & std::numeric_limits<Bits>::max());
  } else {
    using Int = std::decay_t<decltype(bits[0])>;
    return bits ^ ((bits >> (8 * sizeof(Int) - 1)) & std::numeric_limits<Int>::max());
  }
}

// Any number of elements, at least one; by their keys.
template <class Op, class T, class Acc>
void extreme_keys(const T* x, int64_t n, Acc* __restrict out) {
  using Int = std::conditional_t<sizeof(Acc) == 4, int32_t, int64_t>;
  constexpr int kWidth = kLanes<Acc>, kVectors = kSubtrees / kWidth > 4 ? kSubtrees / kWidth : 4;
  const auto keys = [](const T* y) { return ordered_key(reinterpret_cast<Vector<Int>>(load<Acc>(y))); };
  Vector<Int> largest[kVectors], smallest[kVectors];
  const auto take = [&](int i, Vector<Int> key) {
    largest[i] = key > largest[i] ? key : largest[i];
    smallest[i] = key < smallest[i] ? key : smallest[i];
  };
  T few[kWidth];  // fewer elements than a vector, and one of them again
  const int64_t rest = n % kWidth;
  for (int64_t i = 0; i < kWidth; ++i) few[i] = x[n - 1 - (i < rest ? i : 0)];
  for (int i = 0; i < kVectors; ++i) largest[i] = smallest[i] = keys(few);
  int64_t k = 0;
  for (; k + kVectors * kWidth <= n; k += kVectors * kWidth) {
    for (int i = 0; i < kVectors; ++i) take(i, keys(x + k + i * kWidth));
  }
  for (; k + kWidth <= n; k += kWidth) take(0, keys(x + k));
  for (int half = kVectors / 2; half * kWidth >= kSubtrees; half /= 2) {
    for (int i = 0; i < half; ++i) take(i, largest[i + half]), take(i, smallest[i + half]);
  }
  const Acc inf = std::numeric_limits<Acc>::infinity(), nan = std::numeric_limits<Acc>::quiet_NaN();
  const Int above = ordered_key(bit_cast<Int>(inf)), below = ordered_key(bit_cast<Int>(-inf));
  for (int l = 0; l < kSubtrees; ++l) {
    const Int high = largest[l / kWidth][l % kWidth], low = smallest[l / kWidth][l % kWidth];
    const Int key = Op::is_max ? high : low;
    out[l] = high > above || low < below ? nan : bit_cast<Acc>(ordered_key(key));  // the key of the key is the float
  }
}

// Whether the bits as they are can be compared: x86 has unsigned minima from SSE4 on, and those of 64 bits in AVX-512
// alone.
template <class Op, class T>
constexpr bool has_extreme_bits =
    Op::selects && sizeof(T) < 8 && kVectorBytes > 16 &&
    (std::is_floating_point<T>::value || std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value);

// What three comparisons of the bits tell of some floats, without a key for each. Those without a sign order like
// signed and unsigned integers; among those with one, the largest integer is the least float.
template <class T>
struct ExtremeBits {
  using Int = std::conditional_t<sizeof(T) == 4, int32_t, int16_t>;
  using Bits = std::make_unsigned_t<Int>;
  static constexpr Int kInf = std::is_same<T, Half>::value ? 0x7c00 : sizeof(T) == 2 ? 0x7f80 : 0x7f800000;
  static constexpr Bits kNegativeInf = static_cast<Bits>(kInf | std::numeric_limits<Int>::min());

  // Of the largest integer, and the smallest and the largest of the bits without a sign.
  template <class Op>
  static TR_HD T result(Int high, Bits low, Bits far) {
    const Bits nan = (high > kInf) | (far > kNegativeInf) ? static_cast<Bits>(-1) : Bits(0);
    const bool is_max = Op::is_max, sign = (is_max ? high : static_cast<Int>(far)) < 0;
    const Bits ends = is_max ? static_cast<Bits>(high) : low, others = is_max ? low : far;
    return bit_cast<T>(static_cast<Bits>((sign ? others : ends) | nan));
  }
};

// out[i] = the extreme of row[r][i] over all rows.
template <class Op, int Rows, class T>
TR_HD void extreme_rows(const T* const* row, int64_t count, T* __restrict out) {
  using Int = typename ExtremeBits<T>::Int;
  using Bits = typename ExtremeBits<T>::Bits;
  for (int64_t i = 0; i < count; ++i) {
    Int high = bit_cast<Int>(row[0][i]);
    Bits low = static_cast<Bits>(high), far = low;
    TR_UNROLL
    for (int r = 1; r < Rows; ++r) {
      const Int x = bit_cast<Int>(row[r][i]);
      const Bits bits = static_cast<Bits>(x);
      high = x > high ? x : high;
      low = bits < low ? bits : low;
      far = bits > far ? bits : far;
    }
    out[i] = ExtremeBits<T>::template result<Op>(high, low, far);
  }
}

// Of 32 bytes with AVX-512 too, which on an AMD EPYC compares 64 at half of that speed. By intrinsics, as GCC 12 then
// makes two instructions. (Masked: vectors.h.)
template <class Int>
using Extremes = typename VectorOf<Int, 32 / sizeof(Int)>::type;

template <class Int>
TR_HD Extremes<Int> larger(Extremes<Int> a, Extremes<Int> b) {
#if defined(__AVX2__)
  const auto x = reinterpret_cast<__m256i>(a), y = reinterpret_cast<__m256i>(b);
  __m256i v;
  if constexpr (std::is_signed<Int>::value) {
    v = sizeof(Int) == 4 ? _mm256_max_epi32(x, y) : _mm256_max_epi16(x, y);
  } else {
    v = sizeof(Int) == 4 ? _mm256_max_epu32(x, y) : _mm256_max_epu16(x, y);
  }
  return reinterpret_cast<Extremes<Int>>(v);
#else
  return a > b ? a : b;
#endif
}

template <class Bits>
TR_HD Extremes<Bits> least(Extremes<Bits> a, Extremes<Bits> b) {
#if defined(__AVX2__)
  const auto x = reinterpret_cast<__m256i>(a), y = reinterpret_cast<__m256i>(b);
  return reinterpret_cast<Extremes<Bits>>(sizeof(Bits) == 4 ? _mm256_min_epu32(x, y) : _mm256_min_epu16(x, y));
#else
  return a < b ? a : b;
#endif
}

// Bits of each comparison.
template <class T>
struct ExtremeVectors {
  using Int = typename ExtremeBits<T>::Int;
  using Bits = typename ExtremeBits<T>::Bits;
  Extremes<Int> high;
  Extremes<Bits> low, far;

  TR_HD void take(const ExtremeVectors& x) {
    high = larger<Int>(x.high, high);
    low = least<Bits>(x.low, low);
    far = larger<Bits>(x.far, far);
  }

  static TR_HD ExtremeVectors of(const T* x) {
    Extremes<Int> v;
    __builtin_memcpy(&v, x, sizeof(v));
    const auto bits = reinterpret_cast<Extremes<Bits>>(v);
    return {v, bits, bits};
  }

  TR_HD void copy(Int* to_high, Bits* to_low, Bits* to_far) const {
    __builtin_memcpy(to_high, &high, sizeof(high));
    __builtin_memcpy(to_low, &low, sizeof(low));
    __builtin_memcpy(to_far, &far, sizeof(far));
  }
};

// out[subtree] of any number of elements, at least one: the extremes of as many parts of them. Nothing is fetched
// ahead, which is slower from the third cache and from memory.
template <class Op, class T, class Acc>
void extremes(const T* x, int64_t n, Acc* __restrict out) {
  if constexpr (!has_extreme_bits<Op, T>) {
    extreme_keys<Op>(x, n, out);
  } else {
    using Found = ExtremeVectors<T>;
    constexpr int kWidth = 32 / sizeof(T), kFound = 2, kAtOnce = 4;
    if (n < kWidth) {
      T filled[kWidth];
      for (int i = 0; i < kWidth; ++i) filled[i] = x[i < n ? i : 0];
      return extremes<Op>(filled, kWidth, out);
    }
    Found found[kFound];
    for (int i = 0; i < kFound; ++i) found[i] = Found::of(x + n - kWidth);  // the end, a whole vector or not
    int64_t k = 0;
    for (; k + kAtOnce * kWidth <= n; k += kAtOnce * kWidth) {
      TR_UNROLL
      for (int i = 0; i < kAtOnce; ++i) found[i % kFound].take(Found::of(x + k + i * kWidth));
    }
    for (; k + kWidth <= n; k += kWidth) found[0].take(Found::of(x + k));
    if constexpr (kWidth == kSubtrees) found[0].take(found[1]);
    typename Found::Int high[kSubtrees];
    typename Found::Bits low[kSubtrees], far[kSubtrees];
    for (int i = 0; i < kSubtrees / kWidth; ++i) found[i].copy(high + i * kWidth, low + i * kWidth, far + i * kWidth);
    for (int l = 0; l < kSubtrees; ++l) {
      out[l] = element<Acc>(ExtremeBits<T>::template result<Op>(high[l], low[l], far[l]));
    }
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
