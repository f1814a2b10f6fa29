// Leaves of a few vectors of elements, which are combined as they are where all of them allow it: a product whose
// partial products cannot leave the range, exponentials of elements near zero.
#pragma once

#include "core/contract/plain.h"
#include "core/cpu/simd/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Whether the sign of a lane is set.
template <class Bits>
TR_HD bool any_negative(Bits v) {
#if defined(__AVX512F__)
  const auto all = reinterpret_cast<__m512i>(v);
  return sizeof(v[0]) == 4 ? _mm512_movepi32_mask(all) != 0 : _mm512_movepi64_mask(all) != 0;
#elif defined(__AVX2__)
  if constexpr (sizeof(v[0]) == 4) return _mm256_movemask_ps(reinterpret_cast<__m256>(v)) != 0;
  if constexpr (sizeof(v[0]) == 8) return _mm256_movemask_pd(reinterpret_cast<__m256d>(v)) != 0;
#elif defined(__SSE2__)
  if constexpr (sizeof(v[0]) == 4) return _mm_movemask_ps(reinterpret_cast<__m128>(v)) != 0;
  if constexpr (sizeof(v[0]) == 8) return _mm_movemask_pd(reinterpret_cast<__m128d>(v)) != 0;
#else
  bool any = false;
  for (int i = 0; i < static_cast<int>(sizeof(v) / sizeof(v[0])); ++i) any |= v[i] < 0;
  return any;
#endif
}

// The first `count` of these elements, lifted and combined. A call, as it is long, and of products rare.
template <class Op, class V>
__attribute__((noinline)) auto leaf_of_lifted(int count, V a, V b, V c, V d) {
  auto leaf = Op::lift(a);
  if (count > 1) leaf = Op::combine(leaf, Op::lift(b));
  if (count > 2) leaf = Op::combine(leaf, Op::lift(c));
  if (count > 3) leaf = Op::combine(leaf, Op::lift(d));
  return leaf;
}

// Elements x[0], x[1], ..., lifted and combined in that sequence. A call, too: exponentials are long, and products come
// here where they leave the range of words (tree/in_words.h).
template <class Op, class V>
__attribute__((noinline)) auto leaf_of(int count, V a, V b, V c, V d) {
  Plain<accumulator_of<Op, V>> plain;
  V leaf[] = {plain.lift(a)};
  if (count > 1) leaf[0] = plain.combine(leaf[0], plain.lift(b));
  if (count > 2) leaf[0] = plain.combine(leaf[0], plain.lift(c));
  if (count > 3) leaf[0] = plain.combine(leaf[0], plain.lift(d));
  if (__builtin_expect(!any_negative(~plain.are_plain(leaf)), 1)) return plain.scaled(leaf[0]);
  return leaf_of_lifted<Op>(count, a, b, c, d);
}
template <class Op, class V, int Count>
TR_HD accumulator_of<Op, V> leaf_of_plain(const V (&x)[Count]) {
  static_assert(Count <= 4, "as many arguments");
  return leaf_of<Op>(Count, x[0], x[Count > 1 ? 1 : 0], x[Count > 2 ? 2 : 0], x[Count > 3 ? 3 : 0]);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
