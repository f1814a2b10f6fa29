// Exact sums in registers: an element, as a double, is cut into two slices of 50 bits, and a slice is summed as an
// integer (docs/exact.md). Adding M = 1.5 * 2^(w+52) rounds a number to a multiple of 2^w, which then stands in the
// last bits of the sum: adding those bits up as integers loses nothing, and subtracting M shows what is left.
#pragma once

#include "../exact/round.h"
#include "../exact/tuning.h"
#include "device.cuh"

namespace torch_reduce::cuda {

using exact::kSliceBits;

// Where an element's slices lie: numbers below 2^(unit + kSliceBits), the first slice in units of 2^unit, the second in
// units of 2^(unit - kSliceBits).
struct Window {
  int unit;
  double m0, m1;
};

__device__ __forceinline__ double power_of_two(int exponent) {  // of a normal number
  return __hiloint2double((exponent + 1023) << 20, 0);
}

// M and every sum with it stay finite, and units representable, for windows in this range.
template <class F>
constexpr int kLowestUnit = F::kLowest + kSliceBits;
constexpr int kHighestUnit = 1022 - 52;

// A window for numbers below 2^above, above <= kHighestUnit + kSliceBits - kSlack; it has kSlack octaves to spare.
template <class F>
__device__ __forceinline__ Window window_for(int above) {
  Window w;
  w.unit = min(max(above + exact::kSlack - kSliceBits, kLowestUnit<F>), kHighestUnit);
  w.m0 = 1.5 * power_of_two(w.unit + 52);
  w.m1 = 1.5 * power_of_two(w.unit - kSliceBits + 52);
  return w;
}

// The largest magnitude among elements, as its bits. NaN is above Inf.
template <class In>
struct Magnitude;
template <>
struct Magnitude<float> {
  static constexpr uint32_t kInf = 0x7f800000u;
  uint32_t most = 0;
  __device__ __forceinline__ void see(float x) { most = max(most, __float_as_uint(x) & 0x7fffffffu); }
  // All elements are below 2^above().
  static __device__ __forceinline__ int above(uint32_t most) { return max(static_cast<int>(most >> 23), 1) - 126; }
};
template <>
struct Magnitude<double> {  // of the upper halves: those decide
  static constexpr uint32_t kInf = 0x7ff00000u;
  uint32_t most = 0;
  __device__ __forceinline__ void see(double x) {
    most = max(most, static_cast<uint32_t>(__double2hiint(x)) & 0x7fffffffu);
  }
  static __device__ __forceinline__ int above(uint32_t most) { return max(static_cast<int>(most >> 20), 1) - 1022; }
};
template <>
struct Magnitude<BFloat16> {
  static constexpr uint32_t kInf = 0x7f80u;
  uint32_t most = 0;
  __device__ __forceinline__ void see(BFloat16 x) { most = max(most, x.bits & 0x7fffu); }
  static __device__ __forceinline__ int above(uint32_t most) { return max(static_cast<int>(most >> 7), 1) - 126; }
};
template <>
struct Magnitude<Half> {
  static constexpr uint32_t kInf = 0x7c00u;
  uint32_t most = 0;
  __device__ __forceinline__ void see(Half x) { most = max(most, x.bits & 0x7fffu); }
  static __device__ __forceinline__ int above(uint32_t most) { return max(static_cast<int>(most >> 10), 1) - 14; }
};

// The same over the elements in 16 bytes; two at a time where they have 16 bits.
template <class In>
__device__ __forceinline__ void see_vector(uint32_t& most, const uint4& v) {
  if constexpr (sizeof(In) == 2) {
    const uint32_t a = __vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu);
    const uint32_t b = __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu);
    most = __vmaxu2(most, __vmaxu2(a, b));
  } else {
    Magnitude<In> m{most};
    const auto e = bit_cast<Vector<In>>(v);
#pragma unroll
    for (int i = 0; i < vector_width<In>; ++i) m.see(e.e[i]);
    most = m.most;
  }
}
// ... which leaves two of them in `most`.
template <class In>
__device__ __forceinline__ uint32_t seen(uint32_t most) {
  return sizeof(In) == 2 ? max(most >> 16, most & 0xffffu) : most;
}

// What is left of x below both slices; a multiple of the format's unit.
__device__ __forceinline__ double residue(const Window& w, double x) {
  const double r = x - ((x + w.m0) - w.m0);
  return r - ((r + w.m1) - w.m1);
}

// Not zero unless x is. The upper half does, but for subnormals of fp64.
template <class In>
__device__ __forceinline__ uint32_t trace_of(double x) {
  const auto high = static_cast<uint32_t>(__double2hiint(x));
  return sizeof(In) == 8 ? high | static_cast<uint32_t>(__double2loint(x)) : high;
}

// The slices' sums of up to kMostAdds elements, with the bits of M in them.
struct Slices {
  int64_t first = 0, second = 0;

  // `left` becomes non-zero where something is left below.
  template <class In>
  __device__ __forceinline__ void add(const Window& w, double x, uint32_t& left) {
    const double t = x + w.m0;
    first += __double_as_longlong(t);
    if constexpr (std::is_same<In, Half>::value) return;  // fp16's 40 bits fit the first slice, wherever its window is
    const double r = x - (t - w.m0);
    const double u = r + w.m1;
    second += __double_as_longlong(u);
    left |= trace_of<In>(r - (u - w.m1));
  }
  // Takes the bits of M out again, of so many elements.
  template <class In>
  __device__ __forceinline__ void remove(const Window& w, int elements) {
    first -= elements * __double_as_longlong(w.m0);
    if constexpr (std::is_same<In, Half>::value) return;
    second -= elements * __double_as_longlong(w.m1);
  }
};

__extension__ typedef __int128 int128;

// The value of slices in units of the second one.
__device__ __forceinline__ int128 join(int64_t first, int64_t second) {
  return (static_cast<int128>(first) << kSliceBits) + second;
}

__device__ __forceinline__ exact::Leading leading(int128 v, int exponent) {
  const bool negative = v < 0;
  return exact::leading(static_cast<exact::uint128>(negative ? -v : v), exponent, negative);
}

// The sum of all lanes' values, in every lane. Pieces of 27 bits, as 32 of those fit 32 bits.
__device__ __forceinline__ int128 sum_across_warp(int64_t v) {
  constexpr uint32_t kMask = (1u << 27) - 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const uint32_t low = __reduce_add_sync(0xffffffffu, static_cast<uint32_t>(v) & kMask);
  const uint32_t middle = __reduce_add_sync(0xffffffffu, static_cast<uint32_t>(v >> 27) & kMask);
  const int high = __reduce_add_sync(0xffffffffu, static_cast<int>(v >> 54));
#else
  uint32_t low = static_cast<uint32_t>(v) & kMask, middle = static_cast<uint32_t>(v >> 27) & kMask;
  int high = static_cast<int>(v >> 54);
  for (int mask = 1; mask < kWarp; mask *= 2) {
    low += exchange(low, mask);
    middle += exchange(middle, mask);
    high += exchange(high, mask);
  }
#endif
  return low + (static_cast<int128>(middle) << 27) + (static_cast<int128>(high) << 54);
}

__device__ __forceinline__ uint32_t max_across_warp(uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, v);
#else
  for (int mask = 1; mask < kWarp; mask *= 2) v = max(v, exchange(v, mask));
  return v;
#endif
}

// d / n with the trace of what was cut in the last bit, so that a narrower type is rounded to correctly; to double
// itself the quotient is rounded at once.
__device__ __forceinline__ double divide(double d, int64_t n, bool to_double) {
  const double m = static_cast<double>(n);
  if (to_double) return __ddiv_rn(d, m);
  const double q = __ddiv_rz(d, m);
  return __fma_rn(-q, m, d) == 0 ? q : __longlong_as_double(__double_as_longlong(q) | 1);
}

}  // namespace torch_reduce::cuda
