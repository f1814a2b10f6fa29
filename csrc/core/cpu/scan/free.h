// Scans where any order gives the same bits: each element onto the one before it, of some neighbouring rows side by
// side.
#pragma once

#include "core/cpu/scan/job.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc, bool Across>
class FreeScan {
 public:
  using Node = Acc;
  static constexpr int kRows = Across ? 32 : 1, kBlock = Across ? 1 : 256;

  explicit FreeScan(const ScanJob<O, Acc>& job) : job_(job) {}

  static int64_t tasks(const ScanJob<O, Acc>& job) { return job.units_of(kRows); }

  void reduce(int64_t) {}

  void scan(int64_t task) {
    const auto rows = job_.rows_of(task, kRows);
    const int64_t n = job_.layout().n, in = scanned_stride(job_.problem) * job_.in_bytes();
    const int64_t out = *job_.problem.scan_stride * job_.out_bytes();
    const bool in_place = !Across && job_.writes_words(*job_.problem.scan_stride);
    Acc before[kRows], block[kRows * kBlock];
    number_of<Acc> number[kRows * kBlock];
    for (Acc& b : before) b = O::template identity<Acc>();
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = Across ? rows.count : smaller(kBlock, n - at);
      Acc* value = in_place ? reinterpret_cast<Acc*>(rows.out + at * out) : block;
      const number_of<Acc>* x = number;
      if (!Across && job_.reads_numbers(scanned_stride(job_.problem))) {
        x = reinterpret_cast<const number_of<Acc>*>(rows.in + at * in);
      } else {
        job_.read(rows.in + at * in, Across ? job_.inner().in_stride : scanned_stride(job_.problem), count, number);
      }
      if constexpr (Across) {
        for (int64_t i = 0; i < count; ++i) {
          if (!stays(before[i], x[i])) before[i] = O::combine(before[i], lifted(x[i], at));
          value[i] = before[i];
        }
      } else {
        before[0] = along(x, at, count, before[0], value);
      }
      if (!in_place)
        job_.write(value, count, at + 1, rows.out + at * out,
                   Across ? job_.inner().out_stride : *job_.problem.scan_stride);
    }
  }

 private:
  // As wide as an element, for vectors.
  using Flag = std::conditional_t<sizeof(number_of<Acc>) == 4, int32_t, int64_t>;

  // Whether an element surely changes nothing. Most change none of the extremes before them.
  static TR_HD bool stays(const Acc& last, number_of<Acc> x) {
    if constexpr (O::selects) {
      return O::beats(last, x);
    } else {
      return false;
    }
  }
  // Elements from number `at` on, behind `last`: the new last.
  static Acc along(const number_of<Acc>* x, int64_t at, int64_t count, Acc last, Acc* value) {
    constexpr int64_t kAtOnce = O::selects ? 32 : 1;
    int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce) {
      Flag any = 0;
      for (int64_t j = 0; j < kAtOnce; ++j) any |= stays(last, x[i + j]) ? Flag(0) : Flag(1);
      for (int64_t j = 0; j < kAtOnce; ++j) {
        if (any) last = O::combine(last, lifted(x[i + j], at + i + j));
        value[i + j] = last;
      }
    }
    for (; i < count; ++i) value[i] = last = O::combine(last, lifted(x[i], at + i));
    return last;
  }
  static TR_HD Acc lifted(number_of<Acc> x, int64_t index) {
    if constexpr (O::needs_index) {
      return O::lift(x, index);
    } else {
      return O::lift(x);
    }
  }

  const ScanJob<O, Acc>& job_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
