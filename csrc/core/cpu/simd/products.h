// Products of a few vectors of elements, whose exponents are looked at once for all of them: where no partial product
// can leave the range, they multiply as they are, and the scale is looked for at the end.
#pragma once

#include <limits>

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
  using Word = std::decay_t<decltype(V{}[0])>;
  using Scale = order::ScaleOf<V>;
  using Bits = typename Scale::Exponent;
  using Bit = std::decay_t<decltype(Bits{}[0])>;
  // As integers, magnitudes order like the numbers. What overflows, or is NaN, shows at the end; what underflows does
  // not, even if it rounds up to the least normal number.
  const Bit normal = bit_cast<Bit>(std::numeric_limits<Word>::min());
  const Bit least = bit_cast<Bit>(1 / Scale::kLimit), limit = bit_cast<Bit>(Scale::kLimit);
  V product = x[0];
  Bits smallest = Bits{} + normal + 1;
  for (int i = 1; i < Count; ++i) {
    product *= x[i];
    const Bits magnitude = reinterpret_cast<Bits>(order::magnitude_of(product));
    if (i + 1 < Count) smallest = magnitude < smallest ? magnitude : smallest;
  }
  const Bits last = reinterpret_cast<Bits>(order::magnitude_of(product));
  const Bits outside = (smallest - normal - 1) | (last - least) | (limit - 1 - last);
  if (__builtin_expect(!any_negative(outside), 1)) return {product, Bits{}};
  static_assert(Count <= 4, "as many arguments");
  return scaled_product(Count, x[0], x[Count > 1 ? 1 : 0], x[Count > 2 ? 2 : 0], x[Count > 3 ? 3 : 0]);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
