// How CTAs that share a row meet: each leaves the value of its part, and one of 32 also that of all 32, which is a
// complete subtree. A part waits for the values to its left in its group, and for those of groups likewise, and
// combines them in the tree's order: a chain is as long as the logarithm of the number of parts to base 32. CTAs take
// their parts in the order in which they begin, so whoever is waited for has begun.
//
// The look-back of a chained scan (D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016) combines what is there when it looks, so its bits depend on time.
#pragma once

#include "core/contract/ops.h"
#include "core/cuda/block/tree.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc>
struct LookBack {
  static constexpr int kWords = sizeof(Acc) / sizeof(uint32_t);

  // Of parts, of groups of them, of groups of those: [node][row][word], each word of a value below a flag, so that both
  // come together. Zero before the kernel.
  uint64_t* words;
  int64_t rows;
  uint32_t parts;

  // Both by a warp. The first leaves what others wait for, from the value of a part of a row. The second has what comes
  // before the part: the subtree of 2^k parts is in before[k] where bit k of the part's number is set, and may be read
  // by the warp once it is synchronised.
  __device__ __forceinline__ void leave_value(Acc value, uint32_t part, int64_t row) const {
    if (part + 1 == parts) return;
    const int lane = threadIdx.x % kWarp;
    Level level{words, parts};
    for (uint32_t node = part;; node /= kWarp) {
      if (lane == 0) leave(level, node, row, value);
      if (node % kWarp != kWarp - 1) return;
      if (lane != kWarp - 1) value = wait_for(level, node - (kWarp - 1) + lane, row);
      value = tree_across_warp<O>(value);
      level = above(level);
    }
  }
  __device__ __forceinline__ void wait_for_others(uint32_t part, int64_t row, Acc* before) const {
    const int lane = threadIdx.x % kWarp;
    Level level{words, parts};
    for (uint32_t node = part; node > 0; node /= kWarp, before += kLogWarp, level = above(level)) {
      const int left = static_cast<int>(node % kWarp);
      Acc value = O::template identity<Acc>();
      if (lane < left) value = wait_for(level, node - left + lane, row);
#pragma unroll
      for (int k = 0; k < kLogWarp; ++k) {
        if (((left >> k) & 1) && lane == ((left >> k) - 1) << k) before[k] = value;
        value = O::combine(value, exchange(value, 1 << k));
      }
    }
  }

 private:
  static constexpr int kLogWarp = 5;
  struct Level {
    uint64_t* words;
    uint32_t nodes;
  };
  __device__ __forceinline__ Level above(const Level& l) const {
    return {l.words + l.nodes * rows * kWords, l.nodes / kWarp};
  }
  __device__ __forceinline__ uint64_t* words_of(const Level& l, uint32_t node, int64_t row) const {
    return l.words + (node * rows + row) * kWords;
  }
  __device__ __forceinline__ void leave(const Level& l, uint32_t node, int64_t row, const Acc& value) const {
    uint32_t word[kWords];
    __builtin_memcpy(word, &value, sizeof(value));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const uint64_t flagged = uint64_t{1} << 32 | word[i];
#if defined(__CUDA_ARCH__)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words_of(l, node, row) + i), "l"(flagged) : "memory");
#else
      words_of(l, node, row)[i] = flagged;
#endif
    }
  }
  __device__ __forceinline__ Acc wait_for(const Level& l, uint32_t node, int64_t row) const {
    uint32_t word[kWords];
    uint64_t are_there = 0;
    while (are_there == 0) {
      are_there = 1;
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        uint64_t flagged;
#if defined(__CUDA_ARCH__)
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(flagged)
                     : "l"(words_of(l, node, row) + i)
                     : "memory");
#else  // a CTA after the other: what is not there is not waited for, and shows in the bits
        flagged = words_of(l, node, row)[i] | uint64_t{1} << 32;
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
