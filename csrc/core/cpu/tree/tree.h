// The balanced tree of neighbours over arrays: one loop per level, which vectorises.
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/simd/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// One level: y[i] = x[2i], x[2i+1] combined. y may be x.
template <class Op, class Acc>
void halve(const Acc* x, int64_t count, Acc* y) {
  int64_t i = 0;
  if constexpr (has_lanes_of_words<Op, Acc>) {
    using Word = Vector<word_of<Acc>>;
    constexpr std::make_integer_sequence<int, kLanes<Acc>> lanes{};
    for (; i + kLanes<Acc> <= count; i += kLanes<Acc>) {
      const auto a = load_lanes<Op>(x + 2 * i), b = load_lanes<Op>(x + 2 * i + kLanes<Acc>);
      const auto left = each_word<Word>(a, b, [&](Word v, Word w) { return every_other<0, 1>(v, w, lanes); });
      const auto right = each_word<Word>(a, b, [&](Word v, Word w) { return every_other<1, 1>(v, w, lanes); });
      store_lanes<Op>(Op::combine(left, right), y + i);
    }
  }
  TR_VECTORIZE
  for (int64_t j = i; j < count; ++j) y[j] = Op::combine(x[2 * j], x[2 * j + 1]);
}

// The trees of `count` neighbouring arrays of `size` values (a power of two), in place: x[i] is the i-th result.
template <class Op, class Acc>
void fold(Acc* x, int64_t size, int64_t count) {
  for (size /= 2; size >= 1; size /= 2) halve<Op>(x, size * count, x);
}

// One tree whose values are rows of `width` adjacent columns, in place: the results are x[0 .. width).
template <class Op, class Acc>
void fold_columns(Acc* x, int64_t size, int64_t width) {
  for (size /= 2; size >= 1; size /= 2) {
    for (int64_t i = 0; i < size; ++i) {
      const Acc* left = x + 2 * i * width;
      combine_all<Op>(left, left + width, width, x + i * width);
    }
  }
}

// The same of a vector's columns, or of two.
template <class Op, int Width, class Acc>
TR_HD void fold_few_columns(Acc* x, int64_t size) {
  for (size /= 2; size >= 1; size /= 2) {
    for (int64_t i = 0; i < size; ++i) {
      const Acc* left = x + 2 * i * Width;
      if constexpr (has_lanes_of_words<Op, Acc>) {
        combine_all<Op>(left, left + Width, Width, x + i * Width);
      } else {
        TR_UNROLL
        for (int c = 0; c < Width; ++c) x[i * Width + c] = Op::combine(left[c], left[Width + c]);
      }
    }
  }
}

// x as `rows` rows of `columns`, written as `columns` rows.
template <class Acc>
void transpose(const Acc* __restrict x, int64_t rows, int64_t columns, Acc* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
  }
}

// Which subtrees wait for their right neighbours while values arrive one after the other: one of 2^i values, at level
// i, if bit i of the count is set.
class Waiting {
 public:
  TR_HD void clear() { count_ = 0; }
  TR_HD uint64_t count() const { return count_; }

  // A subtree of 2^height values arrives. Calls join(i) for each level that completes it, and returns that at which the
  // whole waits.
  template <class Join>
  TR_HD int push(int height, Join join) {
    int i = height;
    for (; (count_ >> i) & 1; ++i) join(i);
    count_ += uint64_t{1} << height;
    return i;
  }

  // Where something waits: calls begin(i) for the lowest level, then join(i) for each above it.
  template <class Begin, class Join>
  TR_HD void finish(Begin begin, Join join) const {
    int i = 0;
    while (!((count_ >> i) & 1)) ++i;
    begin(i);
    for (++i; count_ >> i; ++i) {
      if ((count_ >> i) & 1) join(i);
    }
  }

 private:
  uint64_t count_ = 0;
};

// The tree over values that arrive one after the other.
template <class Op, class Acc>
struct Stack {
  Acc level[64];
  Waiting waiting;

  // v is the result of an aligned subtree of 2^height values.
  TR_HD void push(Acc v, int height = 0) {
    const int i = waiting.push(height, [&](int left) { v = Op::combine(level[left], v); });
    level[i] = v;
  }

  // The tree over all that was pushed.
  TR_HD Acc result() const {
    if (waiting.count() == 0) return Op::template identity<Acc>();
    Acc v;
    waiting.finish([&](int i) { v = level[i]; }, [&](int i) { v = Op::combine(level[i], v); });
    return v;
  }
};

// The same over rows of `width` values, as many as there are columns: push() takes what top() holds. Rows change hands,
// they are not copied.
template <class Op, class Acc>
class ColumnStack {
 public:
  // For rows of at most `width` values and at most 2^levels pushes; `memory` has levels + 2 of them.
  ColumnStack(int64_t width, int levels, Acc* memory) : top_(levels + 1) {
    for (int i = 0; i <= top_; ++i) row_[i] = memory + i * width;
  }

  void start(int64_t width) {
    width_ = width;
    waiting_.clear();
  }

  // Where the next value is written.
  Acc* top() { return row_[top_]; }

  // What stands in top() is the result of an aligned subtree of 2^height values.
  void push(int height) {
    const int i = waiting_.push(height, [&](int level) { combine_into(row_[level], row_[top_]); });
    Acc* freed = row_[i];
    row_[i] = row_[top_];
    row_[top_] = freed;
  }

  // The tree over all that was pushed, at least one value.
  Acc* result() {
    Acc* v;
    waiting_.finish([&](int level) { v = row_[level]; }, [&](int level) { combine_into(row_[level], v); });
    return v;
  }

 private:
  void combine_into(const Acc* __restrict left, Acc* __restrict v) { combine_all<Op>(left, v, width_, v); }

  Acc* row_[66];
  int top_;
  int64_t width_ = 0;
  Waiting waiting_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
