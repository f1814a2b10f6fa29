// The canonical order: the contract of mode "deterministic" (docs/order.md), for host and device code. No library is
// needed, and no PyTorch. torch_reduce/device/order.cuh builds on it for warps and blocks.
//
// The n elements of one output are cut into chunks of 1024. In a chunk, leaf l combines the elements
// l, l+256, l+512, l+768 in that sequence; the 256 leaves, and then the chunks, combine as a balanced
// binary tree of neighbours. Numbering the leaves of all chunks one after the other makes both trees one:
// any aligned power-of-two range of leaves is a complete subtree, so programs may divide the leaves in any
// such way. A missing element is the operator's identity, so a missing subtree is skipped.
//
// Host code: compile with -ffp-contract=off, or a product that feeds a sum may fuse with it.
#ifndef TORCH_REDUCE_ORDER_H_
#define TORCH_REDUCE_ORDER_H_

#include <cstdint>

#include "host_device.h"
#include "scaled.h"

namespace torch_reduce::order {

constexpr int kLeaves = 256;
constexpr int kSteps = 4;
constexpr int kChunk = kLeaves * kSteps;

// How many leaves, numbered through all chunks, cover n elements.
constexpr TORCH_REDUCE_HD int64_t leaf_count(int64_t n) {
  const int64_t rest = n % kChunk;
  return n / kChunk * kLeaves + (rest < kLeaves ? rest : kLeaves);
}

constexpr TORCH_REDUCE_HD int64_t chunk_count(int64_t n) { return (n + kChunk - 1) / kChunk; }

// The element that leaf `leaf` (numbered through all chunks) takes at step 0; the next ones are kLeaves apart.
constexpr TORCH_REDUCE_HD int64_t first_element(int64_t leaf) { return leaf / kLeaves * kChunk + leaf % kLeaves; }

// The balanced tree of neighbours over a power-of-two array, by op.combine().
template <int N, class Acc, class Op>
TORCH_REDUCE_HD Acc tree_by(Op& op, const Acc (&v)[N]) {
  static_assert((N & (N - 1)) == 0, "a tree has a power of two of leaves");
  Acc t[N];
  TORCH_REDUCE_UNROLL
  for (int i = 0; i < N; ++i) t[i] = v[i];
  TORCH_REDUCE_UNROLL
  for (int width = 1; width < N; width *= 2) {
    TORCH_REDUCE_UNROLL
    for (int i = 0; i < N; i += 2 * width) t[i] = op.combine(t[i], t[i + width]);
  }
  return t[0];
}
// The same over leaf(First), leaf(First + 1), ..., each made when it is combined: so few wait at a time.
template <int N, int First = 0, class Op, class F>
TORCH_REDUCE_HD auto tree_of(Op& op, F leaf) {
  static_assert((N & (N - 1)) == 0, "a tree has a power of two of leaves");
  if constexpr (N == 1) {
    return leaf(First);
  } else {
    const auto left = tree_of<N / 2, First>(op, leaf);
    return op.combine(left, tree_of<N / 2, First + N / 2>(op, leaf));
  }
}
template <class Op, int N, class Acc>
TORCH_REDUCE_HD Acc tree(const Acc (&v)[N]) {
  Op op;
  return tree_by(op, v);
}

// The same tree over values that arrive one after the other: bit i of `count` says whether level[i] holds a
// complete subtree of 2^i values that waits for its right neighbour. There is room for 2^(Levels + 1) - 1 values.
template <class Op, class Acc, int Levels>
struct Counter {
  Acc level[Levels + 1];
  uint32_t count = 0;

  // Returns the largest subtree that v completes: after a power of two of values, the tree over all of them.
  TORCH_REDUCE_HD Acc push(Acc v) {
    const uint32_t before = count++;
    bool carries = true;  // no break: every index must be a constant for the levels to stay in registers
    TORCH_REDUCE_UNROLL
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
  TORCH_REDUCE_HD Acc result() const {
    Acc v = Op::template identity<Acc>();
    bool any = false;
    TORCH_REDUCE_UNROLL
    for (int i = 0; i <= Levels; ++i) {
      if ((count >> i) & 1) {
        v = any ? Op::combine(level[i], v) : level[i];
        any = true;
      }
    }
    return v;
  }
};

// ---- operators -----------------------------------------------------------------------------------------------------

// finish() makes the result of n elements from their tree, in the compute type.
struct Sum {
  // -0.0 and not +0.0: x + -0.0 is x for every x, so a missing element changes no bit.
  template <class Acc>
  static constexpr TORCH_REDUCE_HD Acc identity() {
    return Acc(-0.0);
  }
  template <class Acc>
  static TORCH_REDUCE_HD Acc combine(Acc a, Acc b) {
    return add(a, b);
  }
  // A zero sum is +0.
  template <class Acc>
  static TORCH_REDUCE_HD Acc finish(Acc a, int64_t) {
    return add(a, Acc(0));
  }
};

struct Mean : Sum {
  template <class Acc>
  static TORCH_REDUCE_HD Acc finish(Acc a, int64_t n) {
    return divide(add(a, Acc(0)), static_cast<Acc>(n));
  }
};

// Combines what lift() makes of the elements: finite ones neither overflow nor underflow on the way. The result is a
// double that rounds to the type of the elements, or to a narrower one, as the product itself does.
struct Prod {
  template <class T>
  static TORCH_REDUCE_HD Scaled<T> lift(T x) {
    return scaled(x);
  }
  template <class Acc>
  static constexpr TORCH_REDUCE_HD Acc identity() {
    return {typename Acc::Word(1), 0};
  }
  template <class T>
  static TORCH_REDUCE_HD Scaled<T> combine(Scaled<T> a, Scaled<T> b) {
    return multiply(a, b);
  }
  template <class T>
  static TORCH_REDUCE_HD double finish(Scaled<T> a, int64_t) {
    return value_of(a);
  }
};

}  // namespace torch_reduce::order

#endif  // TORCH_REDUCE_ORDER_H_
