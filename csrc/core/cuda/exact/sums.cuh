// Sums as integers of 128 bits with an exponent: what warps and CTAs hand on while they fit. A superaccumulator would
// take three times the bytes, and a warp to round it.
#pragma once

#include <climits>

#include "core/cuda/exact/digits.cuh"

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
__device__ __forceinline__ WideSum wide_sum_across_warp(const WideSum& v, int exponent, bool& fits) {
  constexpr int kRoom = 126 - 8;  // 32 numbers take five bits and a sign
  const int above = max_across_warp(v.above());
  fits = exponent == WideSum::kNothing || above - exponent <= kRoom;
  const int128 shifted = v.exponent == WideSum::kNothing || !fits ? 0 : v.value << (v.exponent - exponent);
  return {sum_across_warp(shifted), exponent};
}

// The sum of the numbers of all lanes, in every lane. Sets `fits` to whether 128 bits hold it; if not, the sum is none.
__device__ __forceinline__ WideSum sum_across_warp(const WideSum& v, bool& fits) {
  const int exponent = min_across_warp(v.exponent);
  // The likely case is a shorter chain of instructions.
  const auto low = static_cast<int64_t>(v.value);
  int64_t shifted;
  const bool fits_64 =
      narrow(low, v.exponent == WideSum::kNothing ? 0 : v.exponent - exponent, shifted) && v.value == low;
  fits = true;
  if (__ballot_sync(kAllLanes, !fits_64) == 0) return {sum_across_warp(shifted), exponent};
  return wide_sum_across_warp(v, exponent, fits);
}

// Sums of threads of a CTA in shared memory, of up to kMost numbers each: in pieces, as additions of 32 bits are what
// the hardware has. Short code: while all of memory is being read, instructions that were not met before take longest.
template <int Sums>
struct SharedSums {
  static constexpr int kBits = 22, kPieces = 6, kMost = 1 << (32 - kBits);
  uint32_t piece[kPieces][Sums];

  __device__ __forceinline__ void clear() {
    for (int i = threadIdx.x; i < kPieces * Sums; i += blockDim.x) piece[0][i] = 0;
  }
  __device__ __forceinline__ void add(int sum, int128 v) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const auto bits = static_cast<uint32_t>(v >> kBits * i);
      atomicAdd(&piece[i][sum], i + 1 < kPieces ? bits & ((1u << kBits) - 1) : bits);
    }
  }
  __device__ __forceinline__ int128 of(int sum) const {
    int128 v = static_cast<int32_t>(piece[kPieces - 1][sum]);
#pragma unroll
    for (int i = kPieces - 2; i >= 0; --i) v = (v << kBits) + piece[i][sum];
    return v;
  }
};

}  // namespace torch_reduce::cuda
