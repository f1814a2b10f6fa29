// Products of a few vectors of elements, whose exponents are looked at once for all of them: where no partial product
// can leave the range, they multiply as they are, and the scale is looked for at the end.
#pragma once

#include "core/contract/plain_products.h"
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

// a * b * ..., of the first `count`, each of them scaled. A call, as it is rare and long.
template <class V>
__attribute__((noinline)) order::Scaled<V> scaled_product(int count, V a, V b, V c, V d) {
  order::Scaled<V> product = order::scaled(a);
  if (count > 1) product = order::multiply(product, order::scaled(b));
  if (count > 2) product = order::multiply(product, order::scaled(c));
  if (count > 3) product = order::multiply(product, order::scaled(d));
  return product;
}

// x[0] * x[1] * ..., in that sequence.
template <class V, int Count>
TR_HD order::Scaled<V> product_of(const V (&x)[Count]) {
  PlainProducts<V> plain;
  V product[] = {x[0]};
  for (int i = 1; i < Count; ++i) product[0] = plain.combine(product[0], x[i]);
  if (__builtin_expect(!any_negative(~plain.are_significands(product)), 1))
    return {product[0], typename order::ScaleOf<V>::Exponent{}};
  static_assert(Count <= 4, "as many arguments");
  return scaled_product(Count, x[0], x[Count > 1 ? 1 : 0], x[Count > 2 ? 2 : 0], x[Count > 3 ? 3 : 0]);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
