// An output's elements, or those of several, as memory lies: the order of exact sums is free.
#pragma once

#include "core/cpu/exact/sums.h"
#include "core/cpu/job/buffers.h"
#include "core/cpu/job/cursor.h"
#include "core/cpu/simd/copy_tile.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Where an output's elements begin, by elements of the tensor, and of a second one if there is one.
struct ExactPlace {
  int64_t own = 0, other = 0;
};

// Sums blocks of elements of neighbouring outputs.
template <class T>
class Reader {
 public:
  using Number = T;
  using Format = exact::FormatOf<T>;
  using SideBySide = Sums<T>;
  static constexpr bool has_side_by_side() { return true; }

  Reader(const Problem& problem, const ExactPlan& plan, const Buffers& buffers)
      : in_(static_cast<const T*>(buffers.in)),
        cursor_(problem.layout, sizeof(T)),
        reading_(plan.reading),
        group_(plan.group) {
    const Layout& l = problem.layout;
    if (l.reduced_dims > 0) stride_ = l.reduced[l.reduced_dims - 1].stride;
    if (l.kept_dims > 0) kept_stride_ = l.kept[l.kept_dims - 1].in_stride;
    const int64_t bytes = l.outputs * l.n * static_cast<int64_t>(sizeof(T));
    if (bytes > prefetch_above(kIsWide)) ahead_ = fetch_distance(Reading::Rows, sizeof(T), kIsWide);
  }

  // To `count` neighbouring outputs, of which the first one's elements begin there.
  void start(const ExactPlace& place, int64_t count) {
    cursor_.start(reinterpret_cast<const char*>(in_ + place.own));
    count_ = count;
  }

  // The sums of elements first .. end of each, at most a block.
  void sum(int64_t first, int64_t end, Sums<T>& sums) {
    switch (reading_) {
      case ExactReading::Runs:
        return sum_runs(first, end, sums);
      case ExactReading::Columns:
        return sum_columns(first, end, sums);
      case ExactReading::Rows:
        return sum_rows(first, end, sums);
      case ExactReading::Apart:
        return sum_apart(first, end, sums);
    }
  }

  // Elements first .. end of the first output, next to one another.
  __attribute__((noinline)) void copy(int64_t first, int64_t end, T* out) {
    while (first < end) {
      cursor_.move_to(first);
      const int64_t run = smaller(cursor_.left(), end - first);
      copy_elements(cursor_.row(), sizeof(T), stride_, run, reinterpret_cast<char*>(out));
      cursor_.advance(run);
      out += run;
      first += run;
    }
  }

 private:
  // A run is summed in so many parts side by side, which are then merged.
  static constexpr int kRunSums = Sums<T>::kLine;
  static_assert(kRunSums <= kMostTurns, "the end of a run has room");
  static constexpr int64_t kLongRun = kAtOnce * kRunSums;  // shorter ones are copied into a longer one

  __attribute__((noinline)) void sum_columns(int64_t first, int64_t end, Sums<T>& sums) {
    sums.start(count_);
    while (first < end) {
      const T* rows[kAtOnce] = {kZeros, kZeros, kZeros, kZeros};
      for (int i = 0; i < kAtOnce && first < end; ++i, ++first) {
        cursor_.move_to(first);
        rows[i] = reinterpret_cast<const T*>(cursor_.row());
        cursor_.advance(1);
      }
      sums.add(rows, count_);
    }
  }

  __attribute__((noinline)) void sum_rows(int64_t first, int64_t end, Sums<T>& sums) {
    if constexpr (sizeof(T) >= kLeastOfRow) {
      static_assert(kMostRows * kRunSums <= kMostSums, "there is a sum for each lane of every row");
      sums.start(count_ * kRunSums);
      cursor_.move_to(first);
      const T* x = reinterpret_cast<const T*>(cursor_.row());
      for (int64_t j = 0; j < count_; ++j) add_run(x + j * kept_stride_, end - first, kRunSums, sums, j * kRunSums);
      sums.fold(count_);
    }
  }

  __attribute__((noinline)) void sum_apart(int64_t first, int64_t end, Sums<T>& sums) {
    using Word = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr int64_t kRows = 2 * kVectorBytes / sizeof(T);
    T copies[kRows * kMostSums];
    sums.start(count_);
    while (first < end) {
      cursor_.move_to(first);
      const int64_t run = smaller(smaller(cursor_.left(), end - first), kRows);
      if (ahead_ > 0 && stride_ == 1) {  // the next outputs
        const T* const next = reinterpret_cast<const T*>(cursor_.row()) + count_ * kept_stride_;
        for (int64_t j = 0; j < count_; ++j) {
          prefetch_bytes(reinterpret_cast<const char*>(next + j * kept_stride_), run * sizeof(T));
        }
      }
      copy_tile<Word>(cursor_.row(), run, stride_, count_, kept_stride_, reinterpret_cast<char*>(copies));
      for (int64_t row = 0; row < run; row += kAtOnce) {
        const T* rows[kAtOnce] = {kZeros, kZeros, kZeros, kZeros};
        for (int64_t i = 0; i < smaller(run - row, kAtOnce); ++i) rows[i] = copies + (row + i) * count_;
        sums.add(rows, count_);
      }
      cursor_.advance(run);
      first += run;
    }
  }

  __attribute__((noinline)) void sum_runs(int64_t first, int64_t end, Sums<T>& sums) {
    int64_t width = group_;  // the outputs that take turns, times a power of two
    while (2 * width <= kRunSums) width *= 2;
    sums.start(width);
    T copies[kExactBlock];
    int64_t copied = 0;
    while (first < end) {
      cursor_.move_to(first);
      const int64_t run = smaller(cursor_.left(), end - first);
      if (stride_ == group_ && (group_ > 1 || run >= kLongRun)) {
        add_run(reinterpret_cast<const T*>(cursor_.row()), run * group_, width, sums);
      } else {
        copy_elements(cursor_.row(), sizeof(T), stride_, run, reinterpret_cast<char*>(copies + copied));
        copied += run;
      }
      cursor_.advance(run);
      first += run;
    }
    add_run(copies, copied, width, sums);
    for (int64_t half = width / 2; half >= group_; half /= 2) sums.merge(half);
  }

  // Consecutive elements: x[i] to sum at + i % width.
  void add_run(const T* x, int64_t count, int64_t width, Sums<T>& sums, int64_t at = 0) {
    if (width == kRunSums) {
      for (int64_t steps = count / (kAtOnce * kRunSums); steps > 0;) {
        const int64_t now = smaller(steps, Sums<T>::kMostSteps), done = now * kAtOnce * kRunSums;
        sums.add_lines(x, now, ahead_, at);
        steps -= now;
        count -= done;
        x += done;
      }
    }
    for (; count >= kAtOnce * width; count -= kAtOnce * width, x += kAtOnce * width) {
      if (ahead_ > 0) prefetch_bytes(reinterpret_cast<const char*>(x) + ahead_, kAtOnce * width * sizeof(T));
      const T* const rows[] = {x, x + width, x + 2 * width, x + 3 * width};
      sums.add(rows, width, at);
    }
    if (count == 0) return;
    const T* rows[kAtOnce] = {kZeros, kZeros, kZeros, kZeros};
    int row = 0;
    for (; count >= width; count -= width, x += width) rows[row++] = x;
    T last[kMostTurns] = {};
    for (int64_t i = 0; i < count; ++i) last[i] = x[i];
    if (count > 0) rows[row] = last;
    sums.add(rows, width, at);
  }

  static constexpr T kZeros[kMostSums] = {};

  const T* in_;
  Cursor cursor_;
  const ExactReading reading_;
  const int64_t group_;
  int64_t stride_ = 0, kept_stride_ = 0;  // of elements of an output, and of outputs
  int64_t ahead_ = 0;                     // bytes that are fetched ahead, if any
  int64_t count_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
