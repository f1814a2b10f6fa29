// Two floating elements of 16 bits in a word, by instructions that take both.
#pragma once

#include "core/contract/extremes.h"
#include "core/cuda/lane/element.cuh"

namespace torch_reduce::cuda {

template <class In>
constexpr bool are_halves = std::is_same<In, Half>::value || std::is_same<In, BFloat16>::value;

// In: Half or BFloat16.
template <class In>
struct Halves {
  static constexpr bool is_bfloat16 = std::is_same<In, BFloat16>::value;
  static constexpr uint32_t kNone = is_bfloat16 ? 0xff80ff80u : 0xfc00fc00u;  // twice -infinity

  static __device__ __forceinline__ float low(uint32_t word) { return widen<float>(bits_as<In>(word & 0xffffu)); }
  static __device__ __forceinline__ float high(uint32_t word) { return widen<float>(bits_as<In>(word >> 16)); }

  // Of magnitudes, which order like integers.
  static __device__ __forceinline__ uint32_t larger_magnitudes(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("max.u16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    return a;
#else
    return max(a & 0xffff0000u, b & 0xffff0000u) | max(a & 0xffffu, b & 0xffffu);
#endif
  }
  // NaN where one is.
  static __device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
    if constexpr (is_bfloat16) {
      asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    } else {
      asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    }
    return a;
#else
    return each<true>(a, b);
#endif
  }
  static __device__ __forceinline__ uint32_t smaller(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
    if constexpr (is_bfloat16) {
      asm("min.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    } else {
      asm("min.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    }
    return a;
#else
    return each<false>(a, b);
#endif
  }
  // All bits of each half where both are equal, which zeros of both signs are.
  static __device__ __forceinline__ uint32_t equal(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t mask;
    if constexpr (is_bfloat16) {
      asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
    } else {
      asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
    }
    return mask;
#else
    return (low(a) == low(b) ? 0xffffu : 0) | (high(a) == high(b) ? 0xffff0000u : 0);
#endif
  }

 private:
  template <bool Largest>
  static uint32_t each(uint32_t a, uint32_t b) {
    const auto of = [](float x, float y) {
      return uint32_t{bits_of(Narrow<In, float>::from(extreme<float, Largest>(x, y)))};
    };
    return of(low(a), low(b)) | of(high(a), high(b)) << 16;
  }
};

}  // namespace torch_reduce::cuda
