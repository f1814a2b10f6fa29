// The largest of the integers up to each, a vector at a time.
#pragma once

#include "core/cpu/simd/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Every lane's of lanes so far on the left; the first ones' are their own, which change nothing.
template <int Distance, class V, int... I>
TR_HD V from_left(V v, std::integer_sequence<int, I...>) {
  return TR_SHUFFLE(v, v, I < Distance ? I : I - Distance);
}
template <class V, int... I>
TR_HD V last_in_all_lanes(V v, std::integer_sequence<int, I...>) {
  return TR_SHUFFLE(v, v, static_cast<int>(sizeof...(I)) - 1 + 0 * I);
}

template <int Distance, class Int>
TR_HD Vector<Int> prefix_max(Vector<Int> v) {
  if constexpr (Distance < kLanes<Int>) {
    const auto left = from_left<Distance>(v, std::make_integer_sequence<int, kLanes<Int>>());
    return prefix_max<2 * Distance, Int>(left > v ? left : v);
  } else {
    return v;
  }
}

// x[i] = the largest of x[0], ..., x[i] and `before`.
template <class Int, int Count>
TR_HD void prefix_max(Int (&x)[Count], Int before) {
  static_assert(Count % kLanes<Int> == 0, "whole vectors");
  Vector<Int> carried = before - Vector<Int>{};
  for (int i = 0; i < Count; i += kLanes<Int>) {
    Vector<Int> v = prefix_max<1, Int>(load(x + i));
    v = carried > v ? carried : v;
    __builtin_memcpy(x + i, &v, sizeof(v));
    carried = last_in_all_lanes(v, std::make_integer_sequence<int, kLanes<Int>>());
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
