// What every kernel of one problem shares: where elements are, how they are read, where results go.
#pragma once

#include "core/cpu/element/elements.h"
#include "core/cpu/job/results.h"
#include "core/cpu/job/scratch.h"
#include "core/cpu/simd/vectors.h"
#include "core/plan/cpu/plan.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Elements from an output's first one to `place` among its outermost `dims` reduced dims.
TR_HD int64_t reduced_offset(const Layout& l, int dims, int64_t place) {
  int64_t offset = 0;
  for (int d = dims - 1; d > 0; --d) {
    offset += place % l.reduced[d].size * l.reduced[d].stride;
    place /= l.reduced[d].size;
  }
  return dims > 0 ? offset + place * l.reduced[0].stride : 0;  // the outermost needs no division
}

template <class Op, class Acc>
struct Job {
  const Problem& problem;
  const CpuPlan& plan;
  Elements<Acc> elements;
  Write<Acc> write, write_second;  // the latter null where there is one result
  const char* in;
  char* out;
  const Scratch& scratch;
  Acc* partials;  // [output][piece], used where plan.split > 1

  const Layout& layout() const { return problem.layout; }

  // How many bytes ahead to fetch; 0 for data that may be in a cache.
  int64_t prefetch() const {
    return plan.expected_bytes > prefetch_above(kIsWide) ? fetch_distance(Reading::Rows, elements.size, kIsWide) : 0;
  }
  Ahead ahead() const { return ahead_of_chunks(elements.size, plan.expected_bytes, kIsWide); }

  // The first element of an output.
  const char* input_of(int64_t output) const {
    int64_t offset = 0;
    for (int d = layout().kept_dims - 1; d > 0; --d) {
      const KeptDim& k = layout().kept[d];
      offset += output % k.size * k.in_stride;
      output /= k.size;
    }
    if (layout().kept_dims > 0) offset += output * layout().kept[0].in_stride;  // the outermost needs no division
    return in + offset * elements.size;
  }

  // Outputs from `output` on, itself included, that are neighbours along the innermost kept dim.
  int64_t neighbours(int64_t output) const {
    if (layout().kept_dims == 0) return 1;
    const int64_t size = layout().kept[layout().kept_dims - 1].size;
    return layout().kept_dims == 1 ? size - output : size - output % size;
  }

  void write_results(int64_t output, int64_t count, const Acc* value) const {
    const int64_t out_size = static_cast<int64_t>(size_of(problem.out));
    while (count > 0) {
      const int64_t run = smaller(neighbours(output), count);
      int64_t offset = 0, rest = output, stride = 1;
      for (int d = layout().kept_dims - 1; d > 0; --d) {
        const KeptDim& k = layout().kept[d];
        offset += rest % k.size * k.out_stride;
        rest /= k.size;
      }
      if (layout().kept_dims > 0) {
        offset += rest * layout().kept[0].out_stride;
        stride = layout().kept[layout().kept_dims - 1].out_stride;
      }
      write(value, run, count_of_elements(problem), out + offset * out_size, stride);
      if (write_second != nullptr) {
        write_second(value, run, count_of_elements(problem), out + (offset + problem.second) * out_size, stride);
      }
      output += run;
      value += run;
      count -= run;
    }
  }

  // The reduction of one piece of `count` adjacent outputs.
  void deliver(int64_t output, int64_t piece, int64_t count, const Acc* value) const {
    if (plan.split == 1) {
      write_results(output, count, value);
    } else {
      for (int64_t i = 0; i < count; ++i) partials[(output + i) * plan.split + piece] = value[i];
    }
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
