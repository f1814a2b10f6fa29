// The canonical order: the contract of mode "deterministic" (docs/order.md).
//
// The n elements of one output are cut into chunks of 1024. In a chunk, leaf l combines the elements
// l, l+256, l+512, l+768 in that sequence; the 256 leaves, and then the chunks, combine as a balanced
// binary tree of neighbours. Numbering the leaves of all chunks one after the other makes both trees one:
// any aligned power-of-two range of leaves is a complete subtree, so kernels may divide the leaves in any
// such way. A missing element is the operator's identity, so a missing subtree is skipped.
#pragma once

#include "types.h"

namespace torch_reduce {

constexpr int kLeaves = 256;
constexpr int kSteps = 4;
constexpr int kChunk = kLeaves * kSteps;

// How many leaves, numbered through all chunks, cover n elements.
constexpr TR_HD int64_t leaf_count(int64_t n) {
  const int64_t rest = n % kChunk;
  return n / kChunk * kLeaves + (rest < kLeaves ? rest : kLeaves);
}

constexpr TR_HD int64_t chunk_count(int64_t n) { return (n + kChunk - 1) / kChunk; }

// The element that leaf `leaf` (numbered through all chunks) takes at step 0; the next ones are kLeaves apart.
constexpr TR_HD int64_t first_element(int64_t leaf) { return leaf / kLeaves * kChunk + leaf % kLeaves; }

// The balanced tree of neighbours over a power-of-two array.
template <class Op, int N, class Acc>
TR_HD Acc tree(const Acc (&v)[N]) {
  static_assert((N & (N - 1)) == 0, "a tree has a power of two of leaves");
  Acc t[N];
  TR_UNROLL
  for (int i = 0; i < N; ++i) t[i] = v[i];
  TR_UNROLL
  for (int width = 1; width < N; width *= 2) {
    TR_UNROLL
    for (int i = 0; i < N; i += 2 * width) t[i] = Op::combine(t[i], t[i + width]);
  }
  return t[0];
}

// The same tree over values that arrive one after the other: bit i of `count` says whether level[i] holds a
// complete subtree of 2^i values that waits for its right neighbour.
template <class Op, class Acc, int Levels>
struct Counter {
  Acc level[Levels + 1];
  uint32_t count = 0;

  // Returns the largest subtree that v completes: after a power of two of values, the tree over all of them.
  TR_HD Acc push(Acc v) {
    const uint32_t before = count++;
    bool carries = true;  // no break: every index must be a constant for the levels to stay in registers
    TR_UNROLL
    for (int i = 0; i <= Levels; ++i) {
      if (carries) {
        if ((before >> i) & 1) {
          v = Op::combine(level[i], v);
        } else {
          level[i] = v;
          carries = false;
        }
      }
    }
    return v;
  }

  // The tree over everything pushed, missing values being the identity.
  TR_HD Acc result() const {
    Acc v = Op::template identity<Acc>();
    bool any = false;
    TR_UNROLL
    for (int i = 0; i <= Levels; ++i) {
      if ((count >> i) & 1) {
        v = any ? Op::combine(level[i], v) : level[i];
        any = true;
      }
    }
    return v;
  }
};

}  // namespace torch_reduce
