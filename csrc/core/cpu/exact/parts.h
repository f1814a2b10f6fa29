// The elements of a line as vectors of doubles, and sums of such vectors back to the order of the line.
//
// Two shifts and a mask make four doubles of four bf16 in 64 bits: each one's bits go to where fp64 has the sign, the
// lower bits of the exponent and the upper ones of the fraction. That is the number times kMovedScale, without error,
// and subnormal numbers are no exception. Infinities and NaN become finite numbers.
#pragma once

#include "core/cpu/simd/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class T>
constexpr bool is_moved = std::is_same<T, BFloat16>::value;
constexpr double kMovedScale = 0x1p-896;  // of the exponents' biases, 127 and 1023

// Vector d of the line. Of bf16 it has the elements d, d + 4, d + 8 and so on.
template <class T>
TR_HD Vector<double> part_of(const T* line, int d) {
  if constexpr (is_moved<T>) {
    const auto pairs = load<int32_t>(reinterpret_cast<const int32_t*>(line));
    const auto upper = reinterpret_cast<Vector<int64_t>>((d % 2 == 0 ? pairs << 16 : pairs) >> 3);
    return reinterpret_cast<Vector<double>>((d / 2 == 0 ? upper << 32 : upper) &
                                            static_cast<int64_t>(0x8fffe00000000000));
  } else {
    return load_at<T, double>(reinterpret_cast<const char*>(line), d * kLanes<double>);
  }
}

// Adds the sums of each vector's elements to those of the line's.
template <class T, int N>
TR_HD void add_parts(const Vector<double> (&part)[N], double* sums) {
  static_assert(!is_moved<T> || N == 4, "each 64 bits have an element for every vector");
  if constexpr (is_moved<T>) {
    for (int i = 0; i < kLanes<double>; ++i) {
      for (int d = 0; d < N; ++d) sums[i * N + d] += part[d][i] / kMovedScale;
    }
  } else {
    TR_UNROLL
    for (int d = 0; d < N; ++d) {
      const Vector<double> sum = load<double>(sums + d * kLanes<double>) + part[d];
      __builtin_memcpy(sums + d * kLanes<double>, &sum, sizeof(sum));
    }
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
