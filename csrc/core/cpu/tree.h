// The balanced tree of neighbours over arrays: one loop per level, which vectorises.
#pragma once

#include <new>

#include "elements.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// One level: y[i] = x[2i], x[2i+1] combined. y may be x.
template <class Op, class Acc>
void halve(const Acc* x, int64_t count, Acc* y) {
  TR_VECTORIZE
  for (int64_t i = 0; i < count; ++i) y[i] = Op::combine(x[2 * i], x[2 * i + 1]);
}

// The trees of `count` neighbouring arrays of `size` values (a power of two), in place: x[i] is the i-th result.
template <class Op, class Acc>
void fold(Acc* x, int64_t size, int64_t count) {
  for (size /= 2; size >= 1; size /= 2) halve<Op>(x, size * count, x);
}

// One tree whose values are rows of `width` adjacent columns, in place: the results are x[0 .. width). Inlined where
// the width is a constant, of a vector or two.
template <class Op, class Acc>
TR_HD void fold_columns_inlined(Acc* x, int64_t size, int64_t width) {
  for (size /= 2; size >= 1; size /= 2) {
    for (int64_t i = 0; i < size; ++i) {
      const Acc *left = x + 2 * i * width, *right = left + width;
      Acc* y = x + i * width;
      TR_VECTORIZE
      for (int64_t c = 0; c < width; ++c) y[c] = Op::combine(left[c], right[c]);
    }
  }
}

template <class Op, class Acc>
void fold_columns(Acc* x, int64_t size, int64_t width) {
  fold_columns_inlined<Op>(x, size, width);
}

// x as `rows` rows of `columns`, written as `columns` rows.
template <class Acc>
void transpose(const Acc* __restrict x, int64_t rows, int64_t columns, Acc* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
  }
}

// The tree over values that arrive one after the other. level[i] holds a complete subtree of 2^i values that waits
// for its right neighbour, if bit i of count is set.
template <class Op, class Acc>
struct Stack {
  Acc level[64];
  uint64_t count = 0;

  // v is the result of an aligned subtree of 2^height values.
  TR_HD void push(Acc v, int height = 0) {
    int i = height;
    for (; (count >> i) & 1; ++i) v = Op::combine(level[i], v);
    level[i] = v;
    count += uint64_t{1} << height;
  }

  // The tree over all that was pushed.
  TR_HD Acc result() const {
    if (count == 0) return Op::template identity<Acc>();
    int i = 0;
    while (!((count >> i) & 1)) ++i;
    Acc v = level[i++];
    for (; count >> i; ++i) {
      if ((count >> i) & 1) v = Op::combine(level[i], v);
    }
    return v;
  }
};

// Memory that is freed with its scope. It begins with a line of the cache, as vectors that cross lines take twice as
// long to store.
template <class Acc>
struct Buffer {
  static constexpr std::align_val_t kLine{64};
  Acc* data;
  explicit Buffer(int64_t count)
      : data(count ? static_cast<Acc*>(::operator new(static_cast<size_t>(count) * sizeof(Acc), kLine)) : nullptr) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::operator delete(data, kLine); }
};

// The same over rows of `width` values, as many as there are columns: push() takes what top() holds. Rows change hands,
// they are not copied.
template <class Op, class Acc>
class ColumnStack {
 public:
  // For rows of at most `width` values and at most 2^levels pushes.
  ColumnStack(int64_t width, int levels) : memory_((levels + 2) * width), top_(levels + 1) {
    for (int i = 0; i <= top_; ++i) row_[i] = memory_.data + i * width;
  }

  void start(int64_t width) {
    width_ = width;
    count_ = 0;
  }

  // Where the next value is written.
  Acc* top() { return row_[top_]; }

  // What stands in top() is the result of an aligned subtree of 2^height values.
  void push(int height) {
    int i = height;
    for (; (count_ >> i) & 1; ++i) combine_into(row_[i], row_[top_]);
    Acc* freed = row_[i];
    row_[i] = row_[top_];
    row_[top_] = freed;
    count_ += uint64_t{1} << height;
  }

  // The tree over all that was pushed, at least one value.
  Acc* result() {
    int i = 0;
    while (!((count_ >> i) & 1)) ++i;
    Acc* v = row_[i++];
    for (; count_ >> i; ++i) {
      if ((count_ >> i) & 1) combine_into(row_[i], v);
    }
    return v;
  }

 private:
  void combine_into(const Acc* __restrict left, Acc* __restrict v) {
    for (int64_t c = 0; c < width_; ++c) v[c] = Op::combine(left[c], v[c]);
  }

  Buffer<Acc> memory_;
  Acc* row_[66];
  int top_;
  int64_t width_ = 0;
  uint64_t count_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
