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
  uint32_t* flags;  // [part][row], behind the ticket: zero before the kernel
  Acc* values;      // [part][row]
  int64_t rows;
  uint32_t parts;

  // By a warp: from the value of part `part` of a row to those that come before it, the subtree of 2^k parts to
  // before[k] where bit k of the part's number is set. `before` may be read by the warp once it is synchronised.
  __device__ __forceinline__ void run(Acc value, uint32_t part, int64_t row, Acc* before) const {
    const int lane = threadIdx.x % kWarp;
    const int own = __popc((part ^ (part + 1)) >> 1);  // levels of the subtree that ends here
    const bool is_set = (part >> lane) & 1;
    const uint32_t last = ((part >> lane) << lane) - 1;  // the part that ends the subtree
    if (is_set && lane < own) before[lane] = wait_for(last, row);
    __syncwarp();
    if (part + 1 < parts) {
      for (int k = 0; k < own; ++k) value = O::combine(before[k], value);
      if (lane == 0) leave(part, row, value);
    }
    if (is_set && lane >= own) before[lane] = wait_for(last, row);
  }

 private:
  __device__ __forceinline__ void leave(uint32_t part, int64_t row, Acc value) const {
    values[part * rows + row] = value;
    uint32_t* flag = flags + part * rows + row;
#if defined(__CUDA_ARCH__)
    asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
#else
    *flag = 1;
#endif
  }
  __device__ __forceinline__ Acc wait_for(uint32_t part, int64_t row) const {
    const uint32_t* flag = flags + part * rows + row;
#if defined(__CUDA_ARCH__)
    uint32_t is_there;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is_there) : "l"(flag) : "memory");
    } while (is_there == 0);
#else  // a CTA after the other: what is not there is not waited for, and shows in the bits
    if (*flag != 1) return O::template identity<Acc>();
#endif
    Acc value;
    const Acc* from = values + part * rows + row;
    using Word = std::conditional_t<alignof(Acc) % 8 == 0, unsigned long long, unsigned>;
    Word word[sizeof(Acc) / sizeof(Word)];
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(Acc) / sizeof(Word)); ++i) {
      word[i] = __ldcg(reinterpret_cast<const Word*>(from) + i);
    }
    __builtin_memcpy(&value, word, sizeof(value));
    return value;
  }
};

}  // namespace torch_reduce::cuda
