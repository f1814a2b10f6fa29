// Floating extremes as integers: with the bits below the sign flipped where it is set, floats order like integers, +0
// above -0, and a maximum is one instruction where Op::combine takes seven. A NaN lies beyond an infinity, on either
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

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
