// The products of two tensors' elements, or of one's with themselves, as doubles, which hold them without error.
#pragma once

#include "core/cpu/element/with_type.h"
#include "core/cpu/exact/reader.h"
#include "core/cpu/tree/read.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// As Reader; the type of the elements is known at run time.
class ProductReader {
 public:
  using Number = double;
  using Format = exact::Double;
  using SideBySide = Sums<double>;
  static constexpr bool has_side_by_side() { return true; }

  ProductReader(const Problem& problem, const ExactPlan& plan, const Buffers& buffers)
      : own_layout_(problem.layout),
        factors_(layout_of_factors(problem)),
        in_(static_cast<const char*>(buffers.in)),
        other_in_(static_cast<const char*>(buffers.other)),
        size_(static_cast<int64_t>(size_of(problem.in))),
        own_(own_layout_, size_),
        other_(factors_, size_),
        read_(reader_of<double>(problem)),
        across_(plan.reading == ExactReading::Columns) {}
  // Cursors hold references to the layouts.
  ProductReader(const ProductReader&) = delete;
  ProductReader& operator=(const ProductReader&) = delete;

  void start(const ExactPlace& place, int64_t count) {
    own_.start(in_ + place.own * size_);
    if (other_in_ != nullptr) other_.start(other_in_ + place.other * size_);
    count_ = count;
  }

  void sum(int64_t first, int64_t end, Sums<double>& sums) {
    across_ ? sum_across(first, end, sums) : sum_along(first, end, sums);
  }

  // Products first .. end of the first output, next to one another.
  __attribute__((noinline)) void copy(int64_t first, int64_t end, double* out) {
    for_each_run(first, end, [&](int64_t run, int64_t stride, int64_t other_stride) {
      multiply(run, stride, other_stride, out);
      out += run;
    });
  }

 protected:
  // Calls f(count, stride, other_stride) where the cursors are at so many elements that lie so far apart.
  template <class F>
  void for_each_run(int64_t first, int64_t end, F f) {
    const int64_t stride = stride_of(own_layout_), other_stride = stride_of(factors_);
    while (first < end) {
      move_to(first);
      const int64_t run = smaller(own_.left(), end - first);
      f(run, stride, other_stride);
      advance(run);
      first += run;
    }
  }

  // Calls f(stride, other_stride) where the cursors are at an element of each of the outputs, which lie so far apart.
  template <class F>
  void for_each_across(int64_t first, int64_t end, F f) {
    const int64_t stride = own_layout_.kept[own_layout_.kept_dims - 1].in_stride;
    const int64_t other_stride = factors_.kept[own_layout_.kept_dims - 1].in_stride;
    for (; first < end; ++first) {
      move_to(first);
      f(stride, other_stride);
      advance(1);
    }
  }
  bool is_across() const { return across_; }
  int64_t count() const { return count_; }

  // The elements there, and the factors of each.
  const double* read(int64_t count, int64_t stride, int64_t other_stride, double* own, double* other) const {
    read_(own_.row(), stride, count, own);
    if (other_in_ == nullptr) return own;
    read_(other_.row(), other_stride, count, other);
    return other;
  }

 private:
  // A run is summed in so many parts side by side, which are then merged.
  static constexpr int kRunSums = Sums<double>::kLine;
  static constexpr int64_t kStep = kAtOnce * kRunSums;
  static_assert(kExactBlock % kStep == 0 && kExactBlock >= kMostSums, "a block has room for what is added at once");

  void sum_along(int64_t first, int64_t end, Sums<double>& sums) {
    double products[kExactBlock];
    copy(first, end, products);
    const int64_t count = end - first, steps = (count + kStep - 1) / kStep;
    for (int64_t i = count; i < steps * kStep; ++i) products[i] = 0;
    sums.start(kRunSums);
    sums.add_lines(products, steps, 0);
    for (int64_t half = kRunSums / 2; half > 0; half /= 2) sums.merge(half);
  }

  // A product of each output, then the next of each.
  void sum_across(int64_t first, int64_t end, Sums<double>& sums) {
    sums.start(count_);
    double products[kAtOnce][kMostSums];
    const double* const rows[] = {products[0], products[1], products[2], products[3]};
    int row = 0;
    for_each_across(first, end, [&](int64_t stride, int64_t other_stride) {
      multiply(count_, stride, other_stride, products[row]);
      if (++row < kAtOnce) return;
      sums.add(rows, count_);
      row = 0;
    });
    if (row == 0) return;
    for (; row < kAtOnce; ++row) {
      for (int64_t j = 0; j < count_; ++j) products[row][j] = 0;
    }
    sums.add(rows, count_);
  }

  void multiply(int64_t count, int64_t stride, int64_t other_stride, double* out) {
    double buffer[kExactBlock];
    const double* const factors = read(count, stride, other_stride, out, buffer);
    for (int64_t i = 0; i < count; ++i) out[i] *= factors[i];
  }

  // Both have runs of the same lengths.
  void move_to(int64_t k) {
    own_.move_to(k);
    if (other_in_ != nullptr) other_.move_to(k);
  }
  void advance(int64_t count) {
    own_.advance(count);
    if (other_in_ != nullptr) other_.advance(count);
  }
  static int64_t stride_of(const Layout& l) { return l.reduced_dims > 0 ? l.reduced[l.reduced_dims - 1].stride : 1; }

  const Layout& own_layout_;
  const Layout factors_;
  const char *in_, *other_in_;  // the second is null where a tensor is multiplied by itself
  const int64_t size_;
  Cursor own_, other_;
  const Read<double> read_;
  const bool across_;
  int64_t count_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
