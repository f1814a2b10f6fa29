// What every kernel uses: 16-byte loads and the order across a warp.
#pragma once

#include <torch_reduce/device/order.cuh>

#include "core/contract/numeric.h"

namespace torch_reduce::cuda {

using order::exchange;
using order::kWarp;
using order::tree_across_lanes;
using order::tree_across_warp;
using order::tree_across_warp_and_sets;
using order::trees_across_warp_and_sets;

constexpr uint32_t kAllLanes = 0xffffffffu;

template <class In>
constexpr int vector_width = 16 / static_cast<int>(sizeof(In));

// An element whose type is known at run time only: for the rare combinations of types.
struct Any {};

// Read once, so kept out of L1.
__device__ __forceinline__ uint4 load16(const void* p) {
  uint4 v;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
#else  // tests run kernels on the CPU
  v = *static_cast<const uint4*>(p);
#endif
  return v;
}

// For memory of which another load of this SM reads the rest of the sector, and where results are many bytes beside
// what is read.
__device__ __forceinline__ uint4 load16_kept(const void* p) {
  uint4 v;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
#else
  v = *static_cast<const uint4*>(p);
#endif
  return v;
}

// Begins to copy 16 bytes to shared memory, past the registers. Whoever began a copy may read there once it has waited.
__device__ __forceinline__ void copy16(void* shared, const void* p) {
#if defined(__CUDA_ARCH__)
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(p);
#endif
}
// The first `bytes` of them, and zeros.
__device__ __forceinline__ void copy_some_of_16(void* shared, const void* p, int bytes) {
#if defined(__CUDA_ARCH__)
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(p), "r"(bytes) : "memory");
#else
  uint4 v{};
  memcpy(&v, p, bytes);
  *static_cast<uint4*>(shared) = v;
#endif
}
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ __forceinline__ void prefetch_to_l2(const void* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

template <class In>
struct alignas(16) Vector {
  In e[vector_width<In>];
};

// The same in every lane, and known to be so by the compiler: branches on it need no reconvergence.
__device__ __forceinline__ int warp_of_cta() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / kWarp, 0);
}

// Whether so say all lanes that are here.
__device__ __forceinline__ bool all_agree(bool v) {
#if defined(__CUDA_ARCH__)
  return __all_sync(__activemask(), v);
#else
  return v;
#endif
}

// The sum of all lanes' values, in every lane: one instruction, where shuffles of an int64 are ten.
__device__ __forceinline__ uint32_t sum_across_warp(uint32_t v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, v);
#else
  for (int mask = 1; mask < kWarp; mask *= 2) v += exchange(v, mask);
  return v;
#endif
}

// The same of wider integers, of `Bits` bits with their sign: by pieces of 27 bits, as 32 of those fit 32 bits.
template <int Bits, class Int>
__device__ __forceinline__ Int128 sum_of_pieces(Int v) {
  constexpr int kPiece = 27, kLast = (Bits - 1) / kPiece * kPiece;
  const uint32_t last = sum_across_warp(static_cast<uint32_t>(v >> kLast));
  Int128 sum = static_cast<Int128>(static_cast<int32_t>(last)) << kLast;
#pragma unroll
  for (int shift = 0; shift < kLast; shift += kPiece) {
    const uint32_t piece = static_cast<uint32_t>(v >> shift) & ((1u << kPiece) - 1);
    sum += static_cast<Int128>(sum_across_warp(piece)) << shift;
  }
  return sum;
}
__device__ __forceinline__ Int128 sum_across_warp(int64_t v) { return sum_of_pieces<64>(v); }
__device__ __forceinline__ Int128 sum_across_warp(Int128 v) { return sum_of_pieces<128>(v); }

}  // namespace torch_reduce::cuda
