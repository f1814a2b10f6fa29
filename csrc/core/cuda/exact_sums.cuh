// Sums as integers of 128 bits with an exponent: what warps and CTAs hand on while they fit. A superaccumulator would
// take three times the bytes, and a warp to round it.
#pragma once

#include <climits>

#include "exact_digits.cuh"

namespace torch_reduce::cuda {

struct WideSum {
  static constexpr int kNothing = INT_MAX;  // for an exponent: the value is zero
  int128 value = 0;
  int exponent = kNothing;  // of value's unit

  // |value| * 2^exponent < 2^above()
  __device__ __forceinline__ int above() const {
    if (exponent == kNothing) return INT_MIN;
    return exponent + 128 - exact::leading_zeros(static_cast<exact::uint128>(value < 0 ? -value : value) | 1);
  }
};

template <class F>
__device__ __forceinline__ void spill_sum(Digits digits, const WideSum& sum) {
  if (sum.exponent != WideSum::kNothing) spill<F>(digits, sum.value, sum.exponent);
}

__device__ __forceinline__ int min_across_warp(int v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kAllLanes, v);
#else
  for (int mask = 1; mask < kWarp; mask *= 2) v = min(v, exchange(v, mask));
  return v;
#endif
}
__device__ __forceinline__ int max_across_warp(int v) { return ~min_across_warp(~v); }

// In units of 2^exponent, the lowest of all.
template <int N>
__device__ __forceinline__ WideSum wide_sum_across_warp(const WideSum (&v)[N], int exponent, bool& fits) {
  static_assert(N <= 8);
  constexpr int kRoom = 126 - 5 - 3;  // 32 N numbers, and a sign
  int above = INT_MIN;
#pragma unroll
  for (const WideSum& w : v) above = max(above, w.above());
  above = max_across_warp(above);
  fits = exponent == WideSum::kNothing || above - exponent <= kRoom;
  int128 sum = 0;
#pragma unroll
  for (const WideSum& w : v) sum += w.exponent == WideSum::kNothing || !fits ? 0 : w.value << (w.exponent - exponent);
  return {sum_across_warp(sum), exponent};
}

// The sum of all numbers of all lanes, in every lane. Sets `fits` to whether 128 bits hold it; if not, the sum is none.
template <int N>
__device__ __forceinline__ WideSum sum_across_warp(const WideSum (&v)[N], bool& fits) {
  int exponent = WideSum::kNothing;
#pragma unroll
  for (const WideSum& w : v) exponent = min(exponent, w.exponent);
  exponent = min_across_warp(exponent);
  // The likely case is a shorter chain of instructions. For several numbers its checks cost what it saves, and half a
  // microsecond where it fails.
  if constexpr (N == 1) {
    const auto low = static_cast<int64_t>(v[0].value);
    int64_t shifted;
    const bool fits_64 =
        narrow(low, v[0].exponent == WideSum::kNothing ? 0 : v[0].exponent - exponent, shifted) && v[0].value == low;
    fits = true;
    if (__ballot_sync(kAllLanes, !fits_64) == 0) return {sum_across_warp(shifted), exponent};
  }
  return wide_sum_across_warp(v, exponent, fits);
}

}  // namespace torch_reduce::cuda
