// From an exact plan to kernel arguments and a launch: chooses the instantiation, decides nothing.
#pragma once

#include "exact_columns.cuh"
#include "exact_launch.h"
#include "exact_rows.cuh"
#include "exact_short_rows.cuh"
#if defined(TORCH_REDUCE_EMULATED)  // tests/emulator
#include "emulator.h"
#else
#include "launch.cuh"
#endif

namespace torch_reduce::cuda {

// Zeroes scratch, while the kernel after it may start.
struct ZeroArgs {
  uint4* words;
  int64_t count;
};
static __global__ void __launch_bounds__(kExactThreads) exact_zero(const __grid_constant__ ZeroArgs a) {
  allow_next_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kExactThreads + threadIdx.x;
  if (i < a.count) a.words[i] = uint4{0, 0, 0, 0};
}

inline ExactSink make_exact_sink(const exact::ExactPlan& plan, const Problem& p, bool words, const Buffers& b) {
  ExactSink s{};
  s.out = b.out;
  s.type = p.out;
  s.words = words;
  s.divisor = p.op == Op::Mean ? p.layout.n : 1;
  s.units = static_cast<uint32_t>(plan.units);
  s.scratch = static_cast<int64_t*>(b.scratch);
  s.outputs = p.layout.outputs;
  s.tickets = reinterpret_cast<uint32_t*>(s.scratch + p.layout.outputs * exact::words_of(p.in));
  return s;
}

template <class In, Access A>
cudaError_t start_exact_rows(const exact::ExactPlan& plan, const Layout& layout, const void* in, const ExactSink& sink,
                             const Launch& l, bool dependent) {
  ExactRowsArgs<A> a{in,
                     sink,
                     layout.n,
                     layout.outputs,
                     FastDivisor(plan.units),
                     plan.log_team,
                     {},
                     ExactKept<A>(layout, 0),
                     ReducedIndex<A>(layout)};
  if constexpr (A == Access::Segmented) {
    a.segments = segments(layout, vector_width<In>);
  }
  const cudaError_t status = start(exact_rows<In, A>, a, l);
  if (status != cudaSuccess || plan.units == 1) return status;
  using F = exact::FormatOf<In>;
  const ExactFinishArgs<F> finish{sink.scratch, sink, sink.units, KeptIndex<Access::Strided>(layout, 0)};
  return start(exact_finish<F>, finish, Launch{layout.outputs, kExactFinishThreads, 0, l.stream, dependent});
}

template <class In, Access A>
cudaError_t start_exact_short_rows(const exact::ExactPlan& plan, const Layout& layout, const void* in,
                                   const ExactSink& sink, const Launch& l) {
  const ExactShortRowsArgs<A> a{in,
                                sink,
                                layout.n,
                                layout.outputs,
                                plan.log_lanes,
                                ExactKept<A>(layout, 0),
                                ReducedIndex<Access::Strided>(layout)};
  return start(exact_short_rows<In, A>, a, l);
}

template <class In, Access A, int Loads>
cudaError_t start_exact_columns(const exact::ExactPlan& plan, const Layout& layout, const void* in,
                                const ExactSink& sink, const Launch& l) {
  const KeptDim& inner = layout.kept[layout.kept_dims - 1];
  const int64_t batch = layout.outputs / inner.size;
  ExactColumnsArgs<A> a{in,
                        sink,
                        layout.n,
                        inner.size,
                        inner.in_stride,
                        inner.out_stride,
                        layout.reduced_dims ? layout.reduced[0].stride : 0,
                        FastDivisor(plan.column_tiles),
                        FastDivisor(plan.column_tiles / batch),
                        plan.unit_rows,
                        plan.log_across,
                        plan.log_warps_across,
                        plan.direct,
                        plan.unit_rows <= exact::kMostAdds,
                        {},
                        ExactKept<A>(layout, 1),
                        ReducedIndex<A>(layout)};
  if constexpr (A == Access::Segmented) {
    a.segments = segments(layout, 1);
  }
  return start(exact_columns<In, A, Loads>, a, l);
}

template <class In>
cudaError_t launch_exact_typed(const exact::ExactPlan& plan, const Problem& p, bool words, const Buffers& b,
                               cudaStream_t stream, bool dependent) {
  const ExactSink sink = make_exact_sink(plan, p, words, b);
  Launch l{plan.grid, plan.block, plan.shared_bytes, stream, false};
  if (plan.tickets > 0) {
    const ZeroArgs zero{static_cast<uint4*>(b.scratch), plan.scratch_bytes / 16};
    const int64_t grid = (zero.count + kExactThreads - 1) / kExactThreads;
    const cudaError_t status = start(exact_zero, zero, Launch{grid, kExactThreads, 0, stream, false});
    if (status != cudaSuccess) return status;
    l.dependent = dependent;
  }
  const Layout& layout = p.layout;
  switch (plan.family) {
    case Family::Rows:
      if (plan.segmented) return start_exact_rows<In, Access::Segmented>(plan, layout, b.in, sink, l, dependent);
      if (plan.vector) return start_exact_rows<In, Access::Contiguous>(plan, layout, b.in, sink, l, dependent);
      return start_exact_rows<In, Access::Strided>(plan, layout, b.in, sink, l, dependent);
    case Family::ShortRows:
      if (plan.vector) return start_exact_short_rows<In, Access::Contiguous>(plan, layout, b.in, sink, l);
      return start_exact_short_rows<In, Access::Strided>(plan, layout, b.in, sink, l);
    default:
      constexpr int kLoads = tuning::kLoadsInFlight;
      if (plan.segmented) return start_exact_columns<In, Access::Segmented, kLoads>(plan, layout, b.in, sink, l);
      if (!plan.vector) return start_exact_columns<In, Access::Strided, kLoads>(plan, layout, b.in, sink, l);
      if (layout.n <= kLoads / 2)
        return start_exact_columns<In, Access::Contiguous, kLoads / 2>(plan, layout, b.in, sink, l);
      return start_exact_columns<In, Access::Contiguous, kLoads>(plan, layout, b.in, sink, l);
  }
}

}  // namespace torch_reduce::cuda
