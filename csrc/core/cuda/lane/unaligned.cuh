// V neighbours that begin at any element, of a warp whose lanes stand side by side: each lane loads the aligned 16
// bytes that hold the first of its own, and has the rest from the lane after it. So nothing is loaded twice, and the
// last of the lanes has no neighbours of its own. Rejected: to load the other 16 bytes as well, mostly from the L1
// cache, which took registers for twice as many loads, and so half of an SM's warps.
#pragma once

#include "core/cuda/lane/vector.cuh"

namespace torch_reduce::cuda {

// 16 bytes, if they exist: one predicated instruction, as a branch beside each load has them wait for one another.
__device__ __forceinline__ void load16_if(bool exist, const void* p, uint4& v) {
#if defined(__CUDA_ARCH__)
  const int wanted = exist;
  asm volatile("{.reg .pred q; setp.ne.b32 q, %5, 0; @q ld.global.v4.b32 {%0, %1, %2, %3}, [%4];}"
               : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
               : "l"(p), "r"(wanted));
#else
  if (exist) v = *static_cast<const uint4*>(p);
#endif
}

// The aligned 16 bytes in which an element lies.
template <class In>
__device__ __forceinline__ const In* block_of(const In* p) {
  return reinterpret_cast<const In*>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t{15});
}

// Of the 16 bytes at `block`, the elements before `end`, and identities.
template <class O, class In>
__device__ __forceinline__ uint4 load_before(const Source& source, const In* block, const In* end) {
  if (block + vector_width<In> <= end) return load16_kept(block);
  auto v = bit_cast<Vector<In>>(identity_vector<In, O>(source));
#pragma unroll
  for (int e = 0; e < vector_width<In> - 1; ++e) {
    if (block + e < end) v.e[e] = block[e];
  }
  return bit_cast<uint4>(v);
}

// The 16 bytes that begin `shift` bytes, less than 16, behind the first of eight words.
template <class In>
__device__ __forceinline__ uint4 words_behind(uint32_t (&w)[8], int shift) {
  const bool by_two = (shift & 8) != 0, by_one = (shift & 4) != 0;
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = by_two ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = by_one ? w[i + 1] : w[i];
  if constexpr (sizeof(In) < 4) {
    const int bits = (shift & 3) * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], bits);
  }
  return {w[0], w[1], w[2], w[3]};
}

// What begins `shift` bytes behind the calling lane's 16 bytes and ends in those of the lane after it. All lanes of the
// warp call it; the last one's result is any bits.
template <class In>
__device__ __forceinline__ uint4 join_with_next_lane(const uint4& mine, int shift) {
  constexpr int kBorrowed = (16 - static_cast<int>(sizeof(In)) + 3) / 4;  // words, at most
  uint32_t w[8] = {mine.x, mine.y, mine.z, mine.w};
#pragma unroll
  for (int i = 0; i < kBorrowed; ++i) w[4 + i] = __shfl_down_sync(kAllLanes, w[i], 1);
  return words_behind<In>(w, shift);
}

// What begins `shift` bytes, less than 16, before the calling lane's 16 bytes of a load and ends in them. The first
// lane has it from the last lane's bytes of the load before. All lanes of the warp call it.
template <class In>
__device__ __forceinline__ uint4 join_with_lane_before(const uint4& load_before, const uint4& load, int shift) {
  const int lane = threadIdx.x % kWarp, before = (lane + kWarp - 1) % kWarp;
  const uint4 passed = lane == kWarp - 1 ? load_before : load;
  uint32_t w[8] = {0, 0, 0, 0, load.x, load.y, load.z, load.w};
  if (shift == 0) return load;
  w[0] = __shfl_sync(kAllLanes, passed.x, before);
  w[1] = __shfl_sync(kAllLanes, passed.y, before);
  w[2] = __shfl_sync(kAllLanes, passed.z, before);
  w[3] = __shfl_sync(kAllLanes, passed.w, before);
  return words_behind<In>(w, 16 - shift);
}

}  // namespace torch_reduce::cuda
