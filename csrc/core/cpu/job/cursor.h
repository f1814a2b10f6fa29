// A place among the elements of an output that moves on in their logical order, by additions: a division at each run of
// a few elements takes longer than reading them.
#pragma once

#include <cstdint>

#include "core/problem/layout.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

class Cursor {
 public:
  Cursor(const Layout& layout, int64_t element_size)
      : layout_(layout), size_(element_size), step_(layout.reduced_dims ? inner().stride * element_size : 0) {}

  // To the output whose first element is at x.
  void start(const char* x) {
    x_ = x;
    k_ = -1;
  }

  // To element k, which is below n.
  void move_to(int64_t k) {
    if (k != k_) seek(k);
  }

  const char* row() const { return row_; }

  // Elements from here on, this one included, that follow one another at the innermost stride.
  int64_t left() const { return left_; }

  // By at most left() elements.
  void advance(int64_t count) {
    k_ += count;
    row_ += count * step_;
    left_ -= count;
    if (left_ > 0) return;
    if (--runs_ > 0) {
      first_ += outer().stride * size_;
      row_ = first_;
      left_ = inner().size;
    } else if (k_ < layout_.n) {
      seek(k_);
    }
  }

 private:
  void seek(int64_t k) {
    k_ = k;
    if (layout_.reduced_dims <= 1) {
      row_ = x_ + k * step_;
      left_ = layout_.n - k;
      runs_ = 1;
      return;
    }
    int64_t line = k / inner().size;
    const int64_t place = k - line * inner().size;
    runs_ = outer().size - line % outer().size;
    first_ = x_;
    for (int d = layout_.reduced_dims - 2; d >= 0; --d) {
      first_ += line % layout_.reduced[d].size * layout_.reduced[d].stride * size_;
      line /= layout_.reduced[d].size;
    }
    row_ = first_ + place * step_;
    left_ = inner().size - place;
  }

  const ReducedDim& inner() const { return layout_.reduced[layout_.reduced_dims - 1]; }
  const ReducedDim& outer() const { return layout_.reduced[layout_.reduced_dims - 2]; }

  const Layout& layout_;
  int64_t size_, step_;  // bytes: of an element, and from one to the next in a run
  const char* x_ = nullptr;
  int64_t k_ = -1;
  const char* row_ = nullptr;
  const char* first_ = nullptr;  // of this run
  int64_t left_ = 0;
  int64_t runs_ = 0;  // of the innermost dim but one that are left, this one included
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
