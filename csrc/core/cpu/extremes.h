// Floating extremes as integers: with the bits below the sign flipped where it is set, floats order like integers, +0
// above -0, and a maximum is one instruction where Op::combine takes five. A NaN lies beyond an infinity, on either
// side, so the largest and the smallest key tell of it.
#pragma once

#include "elements.h"
#include "vectors.h"

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

// Any number of elements, at least one.
template <class Op, class T, class Acc>
void extremes(const T* x, int64_t n, int64_t prefetch, Acc* __restrict out) {
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
    if (prefetch > 0) prefetch_bytes(reinterpret_cast<const char*>(x + k) + prefetch, kVectors * kWidth * sizeof(T));
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
    const Int key = std::is_same<Op, Max>::value ? high : low;
    out[l] = high > above || low < below ? nan : bit_cast<Acc>(ordered_key(key));  // the key of the key is the float
  }
}

// Whether extreme_rows() is faster than Op::combine: x86 has unsigned minima from SSE4 on, and those of 64 bits in
// AVX-512 alone.
template <class Op, class T>
constexpr bool has_extreme_rows =
    (std::is_same<Op, Max>::value || std::is_same<Op, Min>::value) && sizeof(T) < 8 && kVectorBytes > 16 &&
    (std::is_floating_point<T>::value || std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value);

// out[i] = the extreme of row[r][i] over all rows, by the bits as they are, which costs no key for every element.
// Floats without a sign order like signed and unsigned integers; among those with one, the largest integer is the least
// float.
template <class Op, int Rows, class T>
TR_HD void extreme_rows(const T* const* row, int64_t count, T* __restrict out) {
  using Int = std::conditional_t<sizeof(T) == 4, int32_t, int16_t>;
  using Bits = std::make_unsigned_t<Int>;
  constexpr Int kInf = std::is_same<T, Half>::value ? 0x7c00 : sizeof(T) == 2 ? 0x7f80 : 0x7f800000;
  constexpr Bits kNegativeInf = static_cast<Bits>(kInf | std::numeric_limits<Int>::min());
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
    const Bits nan = (high > kInf) | (far > kNegativeInf) ? static_cast<Bits>(-1) : Bits(0);
    const bool is_max = std::is_same<Op, Max>::value, sign = (is_max ? high : static_cast<Int>(far)) < 0;
    const Bits ends = is_max ? static_cast<Bits>(high) : low, others = is_max ? low : far;
    out[i] = bit_cast<T>(static_cast<Bits>((sign ? others : ends) | nan));
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
