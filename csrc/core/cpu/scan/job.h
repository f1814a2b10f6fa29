// What the scans of one problem share: where rows are, and how elements are read and results written.
#pragma once

#include "core/contract/scans.h"
#include "core/cpu/job/results.h"
#include "core/cpu/tree/read.h"
#include "core/plan/cpu/scan.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc>
struct ScanJob {
  const Problem& problem;
  const ScanPlan& plan;
  Read<number_of<Acc>> read;
  Write<Acc> write;
  Write<word_of<Acc>> write_words;  // that need no finish but rounding; used where factors are multiplied as they are
  const char* in;
  char* out;
  char* partials;  // of pieces, in the order of tasks

  // Elements that lie side by side, `stride` being 1, are numbers, which need no copy.
  bool reads_numbers(int64_t stride) const {
    return problem.in == dtype_of<number_of<Acc>>::value && !problem.tested && stride == 1;
  }
  // Results that lie so are words that finish() gives, or of integers what is combined.
  bool writes_words(int64_t stride) const {
    return !O::needs_index && problem.out == dtype_of<word_of<Acc>>::value && stride == 1;
  }

  const Layout& layout() const { return problem.layout; }
  int64_t in_bytes() const { return static_cast<int64_t>(size_of(problem.in)); }
  int64_t out_bytes() const { return static_cast<int64_t>(size_of(problem.out)); }
  KeptDim inner() const { return layout().kept_dims > 0 ? layout().kept[layout().kept_dims - 1] : KeptDim{1, 0, 0}; }

  // Some neighbours along the innermost kept dim: where their first elements lie, and how many there are.
  struct Rows {
    const char* in;
    char* out;
    int64_t count;
  };
  // Number `unit` of groups of `width` rows.
  Rows rows_of(int64_t unit, int64_t width) const {
    const int64_t groups = (inner().size + width - 1) / width;
    int64_t rest = unit < groups ? 0 : unit / groups;  // short rows notice divisions
    const int64_t first = (unit - rest * groups) * width;
    int64_t from = first * inner().in_stride, to = first * inner().out_stride;
    for (int d = layout().kept_dims - 2; d >= 0; --d) {
      const KeptDim& k = layout().kept[d];
      from += rest % k.size * k.in_stride;
      to += rest % k.size * k.out_stride;
      rest /= k.size;
    }
    return {in + from * in_bytes(), out + to * out_bytes(), smaller(width, inner().size - first)};
  }
  int64_t units_of(int64_t width) const {
    return layout().outputs / inner().size * ((inner().size + width - 1) / width);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
