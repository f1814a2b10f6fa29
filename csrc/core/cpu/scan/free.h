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
    for (Acc& b : before) b = O::template identity<Acc>();
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = Across ? rows.count : smaller(kBlock, n - at);
      Acc* value = in_place ? reinterpret_cast<Acc*>(rows.out + at * out) : block;
      const Acc* x = value;
      if (!Across && job_.reads_numbers(scanned_stride(job_.problem))) {
        x = reinterpret_cast<const Acc*>(rows.in + at * in);
      } else {
        job_.read(rows.in + at * in, Across ? job_.inner().in_stride : scanned_stride(job_.problem), count, value);
      }
      if constexpr (Across) {
        for (int64_t i = 0; i < count; ++i) value[i] = before[i] = O::combine(before[i], O::lift(x[i]));
      } else {
        Acc last = before[0];
        for (int64_t i = 0; i < count; ++i) value[i] = last = O::combine(last, O::lift(x[i]));
        before[0] = last;
      }
      if (!in_place)
        job_.write(value, count, at + 1, rows.out + at * out,
                   Across ? job_.inner().out_stride : *job_.problem.scan_stride);
    }
  }

 private:
  const ScanJob<O, Acc>& job_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
