// How CTAs that share a row meet: each leaves the value of the largest complete subtree that ends with its part, and
// waits for those that lie left of it, one for each set bit of its number. So a part waits for as many as the logarithm
// of their number at most, each from one certain CTA, and combines them in the tree's order. CTAs take their parts in
// the order in which they begin, so whoever is waited for has begun.
//
// The look-back of a chained scan (D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016) combines what is there when it looks, so its bits depend on time.
#pragma once

#include "core/contract/ops.h"
#include "core/cuda/lane/device.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc>
struct LookBack {
  static constexpr int kWords = sizeof(Acc) / sizeof(uint32_t);

  // [part][row][word]: each word of a value below a flag, so that both come together. Zero before the kernel.
  uint64_t* words;
  int64_t rows;
  uint32_t parts;

  // Both by a warp. The first leaves what others wait for: from the value of part `part` of a row that of the subtree
  // which ends there. The second has the rest of what comes before the part: the subtree of 2^k parts is in before[k]
  // where bit k of the part's number is set, and may be read by the warp once it is synchronised.
  __device__ __forceinline__ void leave_subtree(Acc value, uint32_t part, int64_t row, Acc* before) const {
    const int lane = threadIdx.x % kWarp, own = levels(part);
    if (lane < own) before[lane] = wait_for(last_before(part, lane), row);
    __syncwarp();
    if (part + 1 == parts) return;
    for (int k = 0; k < own; ++k) value = O::combine(before[k], value);
    if (lane == 0) leave(part, row, value);
  }
  __device__ __forceinline__ void wait_for_others(uint32_t part, int64_t row, Acc* before) const {
    const int lane = threadIdx.x % kWarp;
    if (((part >> lane) & 1) && lane >= levels(part)) before[lane] = wait_for(last_before(part, lane), row);
  }

 private:
  // Of the subtree that ends with a part, which are the lowest bits of its number that are set.
  static __device__ __forceinline__ int levels(uint32_t part) { return __popc((part ^ (part + 1)) >> 1); }
  // The part that ends the subtree of 2^k parts before this one.
  static __device__ __forceinline__ uint32_t last_before(uint32_t part, int k) { return ((part >> k) << k) - 1; }

  __device__ __forceinline__ uint64_t* words_of(uint32_t part, int64_t row) const {
    return words + (part * rows + row) * kWords;
  }
  __device__ __forceinline__ void leave(uint32_t part, int64_t row, const Acc& value) const {
    uint32_t word[kWords];
    __builtin_memcpy(word, &value, sizeof(value));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const uint64_t flagged = uint64_t{1} << 32 | word[i];
#if defined(__CUDA_ARCH__)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words_of(part, row) + i), "l"(flagged) : "memory");
#else
      words_of(part, row)[i] = flagged;
#endif
    }
  }
  __device__ __forceinline__ Acc wait_for(uint32_t part, int64_t row) const {
    uint32_t word[kWords];
    uint64_t are_there = 0;
    while (are_there == 0) {
      are_there = 1;
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        uint64_t flagged;
#if defined(__CUDA_ARCH__)
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(flagged) : "l"(words_of(part, row) + i) : "memory");
#else  // a CTA after the other: what is not there is not waited for, and shows in the bits
        flagged = words_of(part, row)[i] | uint64_t{1} << 32;
#endif
        are_there &= flagged >> 32;
        word[i] = static_cast<uint32_t>(flagged);
      }
    }
    Acc value;
    __builtin_memcpy(&value, word, sizeof(value));
    return value;
  }
};

}  // namespace torch_reduce::cuda
