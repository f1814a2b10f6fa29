// Chunks of fp32 with all of their leaves in AVX-512's registers, in one loop over their steps. The hardware's
// prefetcher watches the distance between the addresses of one instruction within a page; a chunk's 64 loads, as
// instructions of their own, meet a page once each.
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Half of the 32 registers; AVX2 has 16 of half the width.
template <class Op, class T, class Acc>
constexpr bool has_rolled = kVectorBytes == 64 && std::is_same<T, float>::value && std::is_same<Acc, float>::value;

// The first `count` leaves of a vector, and identities; x may then be anywhere that can be read if `count` is 0.
template <class Op>
TR_HD Vector<float> load_first(const float* x, int64_t count) {
  const Vector<float> others = Op::template identity<float>() - Vector<float>{};
#if defined(__AVX512F__)
  return _mm512_mask_loadu_ps(others, static_cast<__mmask16>((1 << count) - 1), x);
#else
  return count ? load<float>(x) : others;  // not reached: has_rolled
#endif
}

// out[subtree] of a contiguous chunk of `steps` whole steps, and of the first `Vectors` vectors of leaves and `left`
// more leaves of another. Nothing is fetched ahead, which is slower from the third cache and from memory.
template <class Op, int Vectors>
void rolled(const float* x, int64_t steps, int64_t left, float* __restrict out) {
  constexpr int kVectors = kLeaves / kLanes<float>;
  Vector<float> leaf[kVectors];
  for (int i = 0; i < kVectors; ++i) leaf[i] = Op::template identity<float>() - Vector<float>{};
  TR_NO_UNROLL
  for (int64_t s = 0; s < steps; ++s, x += kLeaves) {
    prefetch_bytes(reinterpret_cast<const char*>(x), kLeaves * sizeof(float));
    TR_UNROLL
    for (int i = 0; i < kVectors; ++i) leaf[i] = Op::combine(leaf[i], lift<Op>(load<float>(x + i * kLanes<float>)));
  }
  prefetch_bytes(reinterpret_cast<const char*>(x), Vectors * sizeof(Vector<float>));
  TR_UNROLL
  for (int i = 0; i < Vectors; ++i) leaf[i] = Op::combine(leaf[i], lift<Op>(load<float>(x + i * kLanes<float>)));
  x += Vectors * kLanes<float>;
  leaf[Vectors] = Op::combine(leaf[Vectors], lift<Op>(load_first<Op>(left == 0 ? x - kLanes<float> : x, left)));
  const Vector<float> v = tree_of<Op, float, kVectors>(leaf);
  __builtin_memcpy(out, &v, sizeof(v));
}

template <class Op, int... Vectors>
TR_HD void rolled_by(const float* x, int64_t n, float* out, std::integer_sequence<int, Vectors...>) {
  // A function for each number, as with branches GCC keeps leaves in memory.
  static constexpr void (*kRolled[])(const float*, int64_t, int64_t, float*) = {rolled<Op, Vectors>...};
  kRolled[n % kLeaves / kLanes<float>](x, n / kLeaves, n % kLanes<float>, out);
}

// Of a contiguous chunk of n elements, at least one.
template <class Op>
TR_HD void rolled_chunk(const float* x, int64_t n, float* out) {
  rolled_by<Op>(x, n, out, std::make_integer_sequence<int, kLeaves / kLanes<float>>());
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
