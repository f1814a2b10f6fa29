// Columns whose rows lie close together: a block of them, some vectors wide, goes down through the rows of a chunk, so
// that the trees over four leaves of a vector stay in registers, and what waits is in the first cache.
#pragma once

#include "core/cpu/simd/extremes.h"
#include "core/cpu/simd/vectors.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Neighbouring leaves whose tree stays in registers.
constexpr int kBlockLeaves = 4;

// GCC 12 does not see that a level is read only where its bit of the count is set, and setting all to zero takes as
// long as 20 rows do.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// The tree over the leaves of a chunk, as they come, of `Vectors` vectors of columns.
template <class Op, class Acc, int Vectors>
struct BlockStack {
  Vector<Acc> level[log2_of(kLeaves) + 1][Vectors];
  Waiting waiting;

  // v is the result of an aligned subtree of 2^height leaves.
  TR_HD void push(Vector<Acc> (&v)[Vectors], int height) {
    const int i = waiting.push(height, [&](int left) { combine(left, v); });
    TR_UNROLL
    for (int j = 0; j < Vectors; ++j) level[i][j] = v[j];
  }

  // Over all that was pushed, at least one.
  TR_HD void result(Acc* out) const {
    Vector<Acc> v[Vectors];
    const auto begin = [&](int i) {
      TR_UNROLL
      for (int j = 0; j < Vectors; ++j) v[j] = level[i][j];
    };
    waiting.finish(begin, [&](int i) { combine(i, v); });
    __builtin_memcpy(out, v, sizeof(v));
  }

 private:
  TR_HD void combine(int i, Vector<Acc> (&v)[Vectors]) const {
    TR_UNROLL
    for (int j = 0; j < Vectors; ++j) v[j] = Op::combine(level[i][j], v[j]);
  }
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Neighbouring leaves of one vector of columns.
template <class Op, class T, class Acc, int Steps, int Leaves>
TR_HD Vector<Acc> block_tree(const char* x, int64_t pitch) {
  if constexpr (Leaves > 1) {
    const Vector<Acc> left = block_tree<Op, T, Acc, Steps, Leaves / 2>(x, pitch);
    return Op::combine(left, block_tree<Op, T, Acc, Steps, Leaves / 2>(x + Leaves / 2 * pitch, pitch));
  } else {
    Vector<Acc> v = load_at<T, Acc>(x, 0);
    if constexpr (Steps > 1) v = Op::combine(v, load_at<T, Acc>(x + kLeaves * pitch, 0));
    if constexpr (Steps > 2) v = Op::combine(v, load_at<T, Acc>(x + 2 * kLeaves * pitch, 0));
    if constexpr (Steps > 3) v = Op::combine(v, load_at<T, Acc>(x + 3 * kLeaves * pitch, 0));
    return v;
  }
}

// Leaves from `leaf` up to `end`, of as many elements each.
template <class Op, class T, class Acc, int Steps, int Vectors>
void block_leaves(const char* x, int64_t pitch, int64_t leaf, int64_t end, BlockStack<Op, Acc, Vectors>& stack) {
  constexpr int kBytes = kLanes<Acc> * sizeof(T);
  while (leaf < end) {
    const char* const row = x + leaf * pitch;
    Vector<Acc> v[Vectors];
    if (leaf % kBlockLeaves == 0 && leaf + kBlockLeaves <= end) {
      TR_UNROLL
      for (int j = 0; j < Vectors; ++j) {
        v[j] = block_tree<Op, T, Acc, Steps, kBlockLeaves>(row + j * kBytes, pitch);
      }
      stack.push(v, log2_of(kBlockLeaves));
      leaf += kBlockLeaves;
    } else {
      TR_UNROLL
      for (int j = 0; j < Vectors; ++j) v[j] = block_tree<Op, T, Acc, Steps, 1>(row + j * kBytes, pitch);
      stack.push(v, 0);
      ++leaf;
    }
  }
}

// A block of a chunk whose leaves have Steps elements, and the first `longer` of them one more.
template <class Op, class T, int Steps, class Acc, int Vectors>
TR_HD void block_of(const char* x, int64_t pitch, int64_t longer, BlockStack<Op, Acc, Vectors>& stack) {
  if constexpr (Steps < kSteps) block_leaves<Op, T, Acc, Steps + 1>(x, pitch, 0, longer, stack);
  if constexpr (Steps > 0) block_leaves<Op, T, Acc, Steps>(x, pitch, longer, kLeaves, stack);
}

template <class Op, class T, class Acc, int Vectors>
TR_HD void block(const char* x, int64_t pitch, int64_t rows, BlockStack<Op, Acc, Vectors>& stack, Acc* out) {
  stack.waiting.clear();
  const int64_t steps = rows / kLeaves, longer = rows - steps * kLeaves;
  if (steps == 0) block_of<Op, T, 0>(x, pitch, longer, stack);
  if (steps == 1) block_of<Op, T, 1>(x, pitch, longer, stack);
  if (steps == 2) block_of<Op, T, 2>(x, pitch, longer, stack);
  if (steps == 3) block_of<Op, T, 3>(x, pitch, longer, stack);
  if (steps == 4) block_of<Op, T, 4>(x, pitch, longer, stack);
  stack.result(out);
}

// Extremes need no tree.
template <class Op, class T, class Acc>
void extreme_block(const char* x, int64_t pitch, int64_t rows, Acc* out) {
  using Found = ExtremeVectors<T>;
  constexpr int kWidth = 32 / sizeof(T), kColumns = 4 * kWidth;
  static_assert(kColumns * sizeof(T) == kFewestBlockBytes, "a block is four of these vectors");
  const auto at = [&](int64_t r, int j) { return Found::of(reinterpret_cast<const T*>(x + r * pitch) + j * kWidth); };
  // Not an array, which GCC 12 keeps in memory.
  Found a = at(0, 0), b = at(0, 1), c = at(0, 2), d = at(0, 3);
  for (int64_t r = 1; r < rows; ++r) {
    a.take(at(r, 0));
    b.take(at(r, 1));
    c.take(at(r, 2));
    d.take(at(r, 3));
  }
  typename Found::Int high[kColumns];
  typename Found::Bits low[kColumns], far[kColumns];
  a.copy(high, low, far);
  b.copy(high + kWidth, low + kWidth, far + kWidth);
  c.copy(high + 2 * kWidth, low + 2 * kWidth, far + 2 * kWidth);
  d.copy(high + 3 * kWidth, low + 3 * kWidth, far + 3 * kWidth);
  for (int i = 0; i < kColumns; ++i) {
    out[i] = element<Acc>(ExtremeBits<T>::template result<Op>(high[i], low[i], far[i]));
  }
}

template <class Op, class T, class Acc>
constexpr bool has_column_blocks = !order_free<Op, Acc> || has_extreme_bits<Op, T>;

// Calls f(x, out) for each block of `Columns`; the last one begins before the one before it ends.
template <int64_t Columns, class Acc, class F>
TR_HD void for_blocks(const char* x, int64_t element_size, int64_t width, Acc* out, F f) {
  for (int64_t c = 0; c < width; c += Columns) {
    const int64_t column = c + Columns <= width ? c : width - Columns;
    f(x + column * element_size, out + column);
  }
}

template <class Op, class T, class Acc, int Bytes>
void tree_blocks(const char* x, int64_t pitch, int64_t rows, int64_t width, Acc* out) {
  constexpr int kVector = kLanes<Acc> * static_cast<int>(sizeof(T));
  static_assert(Bytes % kVector == 0, "a block is whole vectors");
  BlockStack<Op, Acc, Bytes / kVector> stack;
  for_blocks<Bytes / sizeof(T)>(x, sizeof(T), width, out,
                                [&](const char* y, Acc* to) { block<Op, T>(y, pitch, rows, stack, to); });
}

// out[column] of a chunk of at least one row, `pitch` bytes apart, whose columns have kFewestBlockBytes in a row at
// least.
template <class Op, class T, class Acc>
void column_blocks(const char* x, int64_t pitch, int64_t rows, int64_t width, Acc* out) {
  if constexpr (has_extreme_bits<Op, T>) {
    for_blocks<kFewestBlockBytes / sizeof(T)>(
        x, sizeof(T), width, out, [&](const char* y, Acc* to) { extreme_block<Op, T>(y, pitch, rows, to); });
  } else if (block_bytes(width * static_cast<int64_t>(sizeof(T)), false) == kBlockBytes) {
    tree_blocks<Op, T, Acc, kBlockBytes>(x, pitch, rows, width, out);
  } else {
    tree_blocks<Op, T, Acc, kFewestBlockBytes>(x, pitch, rows, width, out);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
