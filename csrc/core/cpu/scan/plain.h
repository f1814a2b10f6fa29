// Products that need no exponent of their own, as words.
#pragma once

#include "core/cpu/scan/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Scaled products as words. Of doubles they are value_of(); of floats the same rounded to float, which matters below
// the least normal one.
template <class V>
TR_HD V unscaled(const order::Scaled<V>& x) {
  using Scale = order::ScaleOf<V>;
  const V one = V{} + 1, down = V{} + 1 / Scale::kUnit, up = V{} + Scale::kUnit;
  const auto zero = x.exponent - x.exponent;
  const V once = x.exponent < zero ? down : x.exponent > zero ? up : one;
  const V twice = x.exponent < zero - 1 ? down : x.exponent > zero + 1 ? up : one;
  return x.significand * once * twice;
}
template <class V>
TR_HD bool has_subnormal(const V& words) {
  using Word = std::decay_t<decltype(order::ScaleOf<V>::kLimit)>;
  const auto are = (words != V{}) & (order::magnitude_of(words) < V{} + std::numeric_limits<Word>::min());
  bool has = false;
  for (int i = 0; i < kLanes<Word>; ++i) has |= are[i] != 0;
  return has;
}

template <class O, class Acc>
constexpr bool multiplies_plain = has_vectors<O, Acc> && std::is_same<Acc, order::Scaled<word_of<Acc>>>::value;

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
