// Exact sums in registers: an element, as a double, is cut into slices of 50 bits, and a slice is summed as an integer
// (docs/exact.md). Adding M = 1.5 * 2^(w+52) rounds a number to a multiple of 2^w, which then stands in the last bits
// of the sum: adding those bits up as integers loses nothing. The magnitudes of a tile, known before, say how many
// slices hold all of it.
#pragma once

#include "core/contract/exact/round.h"
#include "core/cuda/lane/device.cuh"
#include "core/plan/tuning/exact.h"

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

// The unit of a window for numbers below 2^above.
template <class F>
__device__ __forceinline__ int unit_for(int above) {
  return min(max(above - kSliceBits, kLowestUnit<F>), kHighestUnit);
}

template <class F>
__device__ __forceinline__ Window window_for(int above) {
  Window w;
  w.unit = unit_for<F>(above);
  w.m0 = 1.5 * power_of_two(w.unit + 52);
  w.m1 = 1.5 * power_of_two(w.unit - kSliceBits + 52);
  return w;
}

// The same in fp32, for tiles of 16-bit elements, of which two slices of 22 bits hold nearly any and one many: a
// quarter of the instructions' time.
constexpr int kFloatSliceBits = 22;
struct FloatWindow {
  int unit;  // of the first slice
  float m0, m1, both;

  __device__ __forceinline__ static bool exists(int above) { return above >= -100 && above <= 125; }
  __device__ __forceinline__ explicit FloatWindow(int above) : unit(above - kFloatSliceBits) {
    const auto m = [](int unit) { return __uint_as_float(static_cast<uint32_t>(unit + 23 + 127) << 23 | 1u << 22); };
    m0 = m(unit);
    m1 = m(unit - kFloatSliceBits);
    both = m0 + m1;  // a multiple of 2^unit, and so exact
  }
  // A sum in units of the second slice, of up to 53 bits.
  __device__ __forceinline__ double value_of(int64_t sum) const {
    return static_cast<double>(sum) * power_of_two(unit - kFloatSliceBits);
  }
};

// How an element type is laid out, in the word that decides its magnitude: that of fp64 is the upper half.
template <class In>
struct Field;
template <>
struct Field<Half> {
  static constexpr int kFraction = 10, kBias = 15, kBits = 10;
};
template <>
struct Field<BFloat16> {
  static constexpr int kFraction = 7, kBias = 127, kBits = 7;
};
template <>
struct Field<float> {
  static constexpr int kFraction = 23, kBias = 127, kBits = 23;
};
template <>
struct Field<double> {
  static constexpr int kFraction = 52, kBias = 1023, kBits = 20;
};
template <class In>
constexpr uint32_t kInfMagnitude = (2u * Field<In>::kBias + 1) << Field<In>::kBits;

// Orders elements by magnitude; 0 for a zero alone.
__device__ __forceinline__ uint32_t magnitude(Half x) { return x.bits & 0x7fffu; }
__device__ __forceinline__ uint32_t magnitude(BFloat16 x) { return x.bits & 0x7fffu; }
__device__ __forceinline__ uint32_t magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }
__device__ __forceinline__ uint32_t magnitude(double x) {
  const auto high = static_cast<uint32_t>(__double2hiint(x)) & 0x7fffffffu;
  return high | min(static_cast<uint32_t>(__double2loint(x)), 1u);
}

// Numbers whose magnitude is at most `most` are below 2^above(most).
template <class In>
__device__ __forceinline__ int above(uint32_t most) {
  return max(static_cast<int>(most >> Field<In>::kBits), 1) - Field<In>::kBias + 1;
}
// Numbers of at least this magnitude are multiples of 2^unit.
template <class In>
__device__ __forceinline__ uint32_t least_magnitude(int unit) {
  const int field = unit + Field<In>::kFraction + Field<In>::kBias;
  return field <= 1 ? 0 : static_cast<uint32_t>(min(field, 2 * Field<In>::kBias + 1)) << Field<In>::kBits;
}

// Every fp16 number is a multiple of 2^-24, and no window for fp16 has a larger unit.
template <class In>
constexpr bool one_slice_is_enough = std::is_same<In, Half>::value;

// The largest magnitude seen, and the smallest one that is not zero (all bits set before there is one).
template <class In>
struct Range {
  uint32_t most = 0, least_less_1 = ~0u;

  __device__ __forceinline__ void see(In x) {
    const uint32_t m = magnitude(x);
    most = max(most, m);
    least_less_1 = min(least_less_1, m - 1);
  }
  __device__ __forceinline__ void merge(const Range& other) {
    most = max(most, other.most);
    least_less_1 = min(least_less_1, other.least_less_1);
  }
  __device__ __forceinline__ bool is_multiple(int unit) const {
    const uint32_t least = least_magnitude<In>(unit);
    return least == 0 || least_less_1 >= least - 1;
  }
};

// The same of all elements in some 16-byte vectors; two at a time where they have 16 bits. Of those, the smallest
// magnitude only if it is asked for.
template <class In, bool has_least, int N>
__device__ __forceinline__ Range<In> range_of(const uint4 (&v)[N]) {
  Range<In> range;
  if constexpr (sizeof(In) == 2) {
    uint32_t most = 0, least = ~0u;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const uint32_t words[] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        const uint32_t a = words[k] & 0x7fff7fffu, b = words[k + 1] & 0x7fff7fffu;
        most = __vimax3_u16x2(most, a, b);
        if constexpr (has_least) {
          least = __viaddmin_u16x2(a, 0xffffffffu, least);
          least = __viaddmin_u16x2(b, 0xffffffffu, least);
        }
      }
    }
    range.most = max(most >> 16, most & 0xffffu);
    range.least_less_1 = min(least >> 16, least & 0xffffu);
    if (range.least_less_1 == 0xffffu) range.least_less_1 = ~0u;
  } else if constexpr (sizeof(In) == 4) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const uint32_t words[] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        const uint32_t a = words[k] & 0x7fffffffu, b = words[k + 1] & 0x7fffffffu;
        range.most = __vimax3_u32(range.most, a, b);
        range.least_less_1 = __viaddmin_u32(a, 0xffffffffu, range.least_less_1);
        range.least_less_1 = __viaddmin_u32(b, 0xffffffffu, range.least_less_1);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const auto e = bit_cast<Vector<In>>(v[i]);
#pragma unroll
      for (int k = 0; k < vector_width<In>; ++k) range.see(e.e[k]);
    }
  }
  return range;
}

// The slices' sums of up to kMostAdds elements, with the bits of M in them.
struct Slices {
  int64_t first = 0, second = 0;

  __device__ __forceinline__ void add_to_first(const Window& w, double x) { first += __double_as_longlong(x + w.m0); }
  __device__ __forceinline__ void add_to_both(const Window& w, double x) {
    const double t = x + w.m0;
    first += __double_as_longlong(t);
    second += __double_as_longlong((x - (t - w.m0)) + w.m1);
  }
  // Takes the bits of M out again, of so many elements.
  __device__ __forceinline__ void remove_from_first(const Window& w, int elements) {
    first -= elements * __double_as_longlong(w.m0);
  }
  __device__ __forceinline__ void remove_from_both(const Window& w, int elements) {
    remove_from_first(w, elements);
    second -= elements * __double_as_longlong(w.m1);
  }
};

__extension__ typedef __int128 int128;

__device__ __forceinline__ int128 exchange(int128 v, int lane_mask) {
  const uint64_t low = exchange(static_cast<uint64_t>(v), lane_mask);
  return (static_cast<int128>(exchange(static_cast<int64_t>(v >> 64), lane_mask)) << 64) + low;
}

// Sums seldom need more than 64 bits, though their bound does: v * 2^shift, and whether it is a number of kNarrowBits
// and a sign, of which kMostNarrow add up in 63.
constexpr int kNarrowBits = 60, kMostNarrow = 8;
constexpr int kMostNarrowShift = 15;  // also the mask of legal shifts
__device__ __forceinline__ bool narrow(int64_t v, int shift, int64_t& shifted) {
  shifted = v << (shift & kMostNarrowShift);
  return shift <= kMostNarrowShift && v == shifted >> shift && shifted >> kNarrowBits == shifted >> 63;
}

// The value of slices in units of the second one.
__device__ __forceinline__ int128 join(int64_t first, int64_t second) {
  return (static_cast<int128>(first) << kSliceBits) + second;
}

// Merges ranges of so many neighbouring lanes, a power of two.
template <class... Ranges>
__device__ __forceinline__ void merge_across_lanes(int lanes, Ranges&... range) {
  for (int mask = 1; mask < lanes; mask *= 2) {
    (range.merge({exchange(range.most, mask), exchange(range.least_less_1, mask)}), ...);
  }
}
template <class In>
__device__ __forceinline__ Range<In> range_across_warp(Range<In> range) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  range.most = __reduce_max_sync(0xffffffffu, range.most);
  range.least_less_1 = __reduce_min_sync(0xffffffffu, range.least_less_1);
#else
  merge_across_lanes(kWarp, range);
#endif
  return range;
}

// d / n with the trace of what was cut in the last bit, so that a narrower type is rounded to correctly; to double
// itself the quotient is rounded at once.
static __device__ __noinline__ double divide(double d, int64_t n, bool to_double) {
  const double m = static_cast<double>(n);
  if (to_double) return __ddiv_rn(d, m);
  const double q = __ddiv_rz(d, m);
  return __fma_rn(-q, m, d) == 0 ? q : __longlong_as_double(__double_as_longlong(q) | 1);
}

}  // namespace torch_reduce::cuda
