// What the lanes of a warp combine in place of accumulators of several words: the same bits by fewer instructions.
#pragma once

#include "core/contract/operators.h"
#include "core/cuda/lane/device.cuh"

namespace torch_reduce::cuda {

// Where all lanes' accumulators may(), a value() of one word stands for each of them, combine() joins two, and
// accumulator() of the operator is what they make. By default there is nothing of that kind.
template <class Acc>
struct Meeting {
  static constexpr bool exists = false;
};

// Sums of exponentials with reference 0 add as they are; 0 stands for that of -infinity.
template <class T>
struct Meeting<Exponentials<T>> {
  static constexpr bool exists = true;
  static TR_HD bool may(Exponentials<T> a) {
    return (a.reference == 0) | (a.reference == -std::numeric_limits<T>::infinity());
  }
  static TR_HD T value(Exponentials<T> a) { return a.reference == 0 ? a.sum : T(0); }
  static TR_HD T combine(T a, T b) { return a + b; }
  template <class O>
  static TR_HD Exponentials<T> accumulator(T sum) {
    return sum > 0 ? Exponentials<T>{sum, 0} : O::template identity<Exponentials<T>>();
  }
};

// Sums of numbers alone.
template <class T>
struct Meeting<NumberSum<T>> {
  static constexpr bool exists = true;
  static TR_HD bool may(NumberSum<T> a) { return a.others == 0; }
  static TR_HD T value(NumberSum<T> a) { return a.sum; }
  static TR_HD T combine(T a, T b) { return a + b; }
  template <class>
  static TR_HD NumberSum<T> accumulator(T sum) {
    return {sum, 0};
  }
};

// Calls tree(op, v), which combines what the lanes have in v by op. All lanes call.
template <class O, class Acc, int Count, class F>
__device__ __forceinline__ void meet(Acc (&v)[Count], F tree) {
  using OneWord = Meeting<Acc>;
  if constexpr (OneWord::exists) {
    bool may = true;
#pragma unroll
    for (const Acc& acc : v) may = may && OneWord::may(acc);
    if (__all_sync(kAllLanes, may)) {
      word_of<Acc> value[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) value[i] = OneWord::value(v[i]);
      tree(OneWord{}, value);
#pragma unroll
      for (int i = 0; i < Count; ++i) v[i] = OneWord::template accumulator<O>(value[i]);
      return;
    }
  }
  tree(O{}, v);
}

// The tree of all lanes' values, in the first lane at least. Each is that of at most 2^LogElements elements, of which
// an integer has up to 64 bits without a sign.
template <class O, int LogElements = 63, class Acc>
__device__ __forceinline__ Acc tree_of_warp(const Acc& v) {
  if constexpr (std::is_same<Acc, Int128>::value && O::adds) {
    return sum_of_pieces<1 + 64 + LogElements>(v);
  } else {
    return tree_across_warp<O>(v);
  }
}

// The tree of order::tree_across_warp_and_sets().
template <class O, int Sets, class Acc>
__device__ __forceinline__ Acc tree_of_sets(const Acc* set) {
  Acc v[Sets];
#pragma unroll
  for (int s = 0; s < Sets; ++s) v[s] = set[s];
  meet<O>(v, [](auto op, auto& to) { to[0] = order::trees_across_warp_and_sets<decltype(op), 1, Sets>(to); });
  return v[0];
}

// The tree over sets of values of `lanes` neighbours, one set after the other.
template <class O, class Acc, int Sets>
__device__ __forceinline__ Acc tree_of_lanes(Acc (&set)[Sets], int lanes) {
  meet<O>(set, [&](auto op, auto& to) {
    using By = decltype(op);
#pragma unroll
    for (auto& of_set : to) of_set = tree_across_lanes<By>(of_set, 1, lanes);
    to[0] = order::tree<By>(to);
  });
  return set[0];
}

}  // namespace torch_reduce::cuda
