// Chunks that lack their last elements, where the order is fixed. Rows of one length end at the same leaf, so branches
// on where that is are predicted.
#pragma once

#include "core/cpu/tree/edge.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A leaf of `Steps` elements and one more, which is read from `last`.
template <class Op, class T, class Acc, int Steps>
TR_HD auto longer_leaf(const char* const* x, int i, const char* last) {
  if constexpr (reads_plain_leaves<Op, Acc>) {
    std::decay_t<decltype(read_elements<T, Acc, 1>(last, 0))> element[Steps + 1];
    for (int s = 0; s < Steps; ++s) element[s] = read_elements<T, Acc, 1>(x[s], i);
    element[Steps] = read_elements<T, Acc, 1>(last, 0);
    return leaf_of_plain<Op>(element);
  } else if constexpr (Steps > 0) {
    return combine<Op>(read_steps<Op, T, Acc, Steps, 1>(x, i), read<Op, T, Acc, 1>(last, 0));
  } else {
    return read<Op, T, Acc, 1>(last, 0);
  }
}

// The trees of chunk_subtrees() over leaves of `Steps` elements each, and one more before leaf `longer`. What `edge`
// has stands for those in x[Steps] that do not fill a read.
template <class Op, class T, class Acc, int Steps, int Vectors>
TR_HD Lanes<Op, Acc> rest_levels(const char* const* x, int i, int longer, const char* edge) {
  constexpr int kRead = kReadLevels<T, Acc, 1>;
  if constexpr (Vectors > 1 << kRead) {
    constexpr int kHalf = Vectors / 2;
    const Lanes<Op, Acc> left = rest_levels<Op, T, Acc, Steps, kHalf>(x, i, longer, edge);
    return halve<Op, Acc, 1, log2_of(kHalf) - kRead>(
        left, rest_levels<Op, T, Acc, Steps, kHalf>(x, i + kHalf * kLanes<Acc>, longer, edge));
  } else {
    if (i < longer) {
      const bool fills = i + kReadWidth<T, Acc> <= longer;
      return over_reads<Op>(longer_leaf<Op, T, Acc, Steps>(x, i, fills ? x[Steps] + i * sizeof(T) : edge));
    }
    if constexpr (Steps > 0) return over_reads<Op>(read_steps<Op, T, Acc, Steps, 1>(x, i));
    return in_all_lanes<Op>(Op::template identity<Acc>());
  }
}

// A function for each number of steps: in one, compilers keep more of them in memory.
template <class Op, class T, class Acc, int Steps>
__attribute__((noinline)) void partial_step(const char* const* x, int longer, Acc* __restrict out) {
  constexpr int kVectors = kLeaves / kSubtrees, kWidth = kVectors * kLanes<Acc>;
  const int whole = longer / kReadWidth<T, Acc> * kReadWidth<T, Acc>;
  const Edge<Op, T, Acc> edge(x[Steps] + whole * sizeof(T), longer - whole);
  for (int i = 0; i < kLeaves; i += kWidth) {
    Lanes<Op, Acc> v = in_all_lanes<Op>(Op::template identity<Acc>());  // of subtrees without an element
    if (Steps > 0 || i < longer) {
      v = order<Acc, 1, log2_of(kVectors) - kReadLevels<T, Acc, 1>>(
          rest_levels<Op, T, Acc, Steps, kVectors>(x, i, longer, edge.bytes()));
    }
    store_lanes<Op>(v, out + i / kVectors);
  }
}

// Whole steps, without branches.
template <class Op, class T, class Acc, int Steps>
__attribute__((noinline)) void whole_steps(const char* const* x, Acc* __restrict out) {
  constexpr int kVectors = kLeaves / kSubtrees;
  for (int i = 0; i < kLeaves; i += kVectors * kLanes<Acc>) {
    const Lanes<Op, Acc> v = chunk_subtrees<Op, T, Acc, Steps, 1, kVectors, false>(x, i, x[0]);
    store_lanes<Op>(v, out + i / kVectors);
  }
}

template <class Op, class T, class Acc, int Steps>
TR_HD void ordered_steps(const char* const* x, int longer, Acc* out) {
  if constexpr (Steps > 0) {
    if (longer == 0) return whole_steps<Op, T, Acc, Steps>(x, out);
  }
  partial_step<Op, T, Acc, Steps>(x, longer, out);
}

// Of a contiguous chunk of n < kChunk elements, at least one, out[subtree].
template <class Op, class T, class Acc>
TR_HD void ordered_rest(const char* bytes, int64_t n, Acc* __restrict out) {
  constexpr int64_t kStep = kLeaves * sizeof(T);
  const char* const x[kSteps] = {bytes, bytes + kStep, bytes + 2 * kStep, bytes + 3 * kStep};
  const int longer = static_cast<int>(n % kLeaves);
  switch (n / kLeaves) {
    case 0:
      return ordered_steps<Op, T, Acc, 0>(x, longer, out);
    case 1:
      return ordered_steps<Op, T, Acc, 1>(x, longer, out);
    case 2:
      return ordered_steps<Op, T, Acc, 2>(x, longer, out);
    default:
      return ordered_steps<Op, T, Acc, 3>(x, longer, out);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
