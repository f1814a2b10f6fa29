// A chunk of fp32 with all of its leaves in AVX-512's registers, in one loop over its steps. The hardware's prefetcher
// watches the distance between the addresses of one instruction within a page; a chunk's 64 loads, as instructions of
// their own, meet a page once each.
#pragma once

#include "elements.h"
#include "vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Half of the 32 registers; AVX2 has 16 of half the width.
template <class T, class Acc>
constexpr bool has_rolled = kVectorBytes == 64 && std::is_same<T, float>::value && std::is_same<Acc, float>::value;

// out[subtree] of a contiguous chunk.
template <class Op>
TR_HD void rolled_chunk(const float* x, float* __restrict out) {
  constexpr int kVectors = kLeaves / kLanes<float>;
  // 8 KiB: from memory as fast as 12 and 16, where 2 take 1.1 to 1.3 times as long; in the caches it does not matter.
  constexpr int64_t kAhead = 8 * kLeaves;
  Vector<float> leaf[kVectors];
  for (int i = 0; i < kVectors; ++i) leaf[i] = Op::template identity<float>() - Vector<float>{};
  TR_NO_UNROLL
  for (int s = 0; s < kSteps; ++s, x += kLeaves) {
    prefetch_bytes(reinterpret_cast<const char*>(x + kAhead), kLeaves * sizeof(float));
    TR_UNROLL
    for (int i = 0; i < kVectors; ++i) leaf[i] = Op::combine(leaf[i], load<float>(x + i * kLanes<float>));
  }
  const Vector<float> v = tree_of<Op, float, kVectors>(leaf);
  __builtin_memcpy(out, &v, sizeof(v));
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
