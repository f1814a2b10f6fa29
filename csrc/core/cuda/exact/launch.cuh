// From an exact plan to kernel arguments and a launch: chooses the instantiation, decides nothing.
#pragma once

#include "core/contract/integers.h"
#include "core/cuda/exact/columns.cuh"
#include "core/cuda/exact/rows.cuh"
#include "core/cuda/exact/short_rows.cuh"
#include "core/cuda/exact/warp_rows.cuh"
#include "core/cuda/start/buffers.h"
#include "core/cuda/start/start.cuh"
#include "core/plan/gpu/exact.h"

namespace torch_reduce::cuda {

inline ExactSink make_exact_sink(const exact::ExactPlan& plan, const Problem& p, const Buffers& b) {
  return {b.out, p.out, plan.words, traits_of(p.op).divides() ? p.layout.n : 1};
}

template <class In, Access A>
RowSource<In, A> row_source(int64_t span, const Layout& layout, const void* in) {
  RowSource<In, A> s{in, layout.n, span, {}, ReducedIndex<A>(layout)};
  if constexpr (A == Access::Segmented) {
    s.segments = segments(layout, vector_width<In>);
  }
  return s;
}

// MostLoads: of the kernel for long rows, if there is one.
template <int Loads, int MostLoads, class Source>
cudaError_t start_rows(const Source& source, const typename Source::Kept& kept, const exact::RowsPlan& rows,
                       const exact::ExactPlan& plan, const Layout& layout, const Buffers& b, const ExactSink& sink,
                       const Launch& l) {
  if (rows.warp_rows > 0) {
    const ExactWarpRowsArgs<Source> a{source, layout.outputs, rows.warp_rows, kept, sink};
    auto* kernel = exact_warp_rows<Source, Loads, false>;
    if constexpr (Source::has_one_tile) {
      if (rows.unit_tiles == 1) kernel = exact_warp_rows<Source, Loads, true>;
    }
    return start(kernel, a, l);
  }
  ExactPartials partials{};
  if (plan.units > 1) {
    partials.sums = static_cast<ExactPartial*>(b.scratch);
    partials.words = reinterpret_cast<int64_t*>(partials.sums + layout.outputs * plan.units);
    partials.units = static_cast<uint32_t>(plan.units);
  }
  const ExactRowsArgs<Source> a{
      source, layout.outputs, FastDivisor(plan.units), rows.log_team, rows.unit_tiles, kept, partials, sink};
  auto* kernel = exact_rows<Source, Loads>;
  if (rows.loads == MostLoads) kernel = exact_rows<Source, MostLoads>;
  const cudaError_t status = start(kernel, a, l);
  if (status != cudaSuccess || plan.units == 1) return status;
  const ExactFinishArgs finish{partials, sink, KeptIndex<Access::Strided>(layout, 0)};
  return start(exact_finish<typename Source::Number>, finish,
               Launch{layout.outputs, kExactFinishThreads, 0, l.stream, l.dependent});
}

template <class In, Access A>
cudaError_t start_exact(const exact::RowsPlan& rows, const exact::ExactPlan& plan, const Layout& layout,
                        const Buffers& b, const ExactSink& sink, const Launch& l) {
  constexpr int kLoads = A == Access::Strided ? exact::kRowsElements : exact::kRowsLoads;
  constexpr int kMostLoads = A == Access::Contiguous ? exact::kRowsMostLoads : kLoads;
  return start_rows<kLoads, kMostLoads>(row_source<In, A>(rows.span, layout, b.in), ExactKept<A>(layout, 0), rows, plan,
                                        layout, b, sink, l);
}

template <class In, Access A>
cudaError_t start_exact(const exact::ShortRowsPlan& rows, const exact::ExactPlan&, const Layout& layout,
                        const Buffers& b, const ExactSink& sink, const Launch& l) {
  const ExactShortRowsArgs<A> a{b.in,
                                sink,
                                layout.n,
                                layout.outputs,
                                rows.log_lanes,
                                ExactKept<A>(layout, 0),
                                ReducedIndex<Access::Strided>(layout)};
  if constexpr (A == Access::Strided) {
    if (rows.loads > 1) return start(exact_short_rows<In, A, tuning::kShortRowsElements>, a, l);
  }
  return start(exact_short_rows<In, A, 1>, a, l);
}

template <class In, Access A>
ColumnSource<In, A> column_source(const Layout& layout, const void* in) {
  const KeptDim& columns = layout.kept[layout.kept_dims - 1];
  ColumnSource<In, A> s{in,
                        layout.n,
                        columns.size,
                        layout.reduced_dims ? layout.reduced[0].stride : 0,
                        columns.in_stride,
                        columns.out_stride,
                        {},
                        ExactKept<A>(layout, 1),
                        ReducedIndex<A>(layout)};
  if constexpr (A == Access::Segmented) {
    s.segments = segments(layout, 1);
  }
  return s;
}

template <int Loads, class Source>
cudaError_t start_short_columns(const Source& source, const exact::ShortColumnsPlan& columns, const Layout& layout,
                                const Buffers& b, const ExactSink& sink, const Launch& l) {
  using In = typename Source::Number;
  constexpr int kWidth = Source::template Part<Loads>::V;
  const int64_t batches = layout.outputs / layout.kept[layout.kept_dims - 1].size;
  const bool wide = kWidth > 1 && sink.type == dtype_of<In>::value && !sink.words &&
                    stores_are_aligned(layout, b.out, kWidth, sizeof(In));
  const ExactShortColumnsArgs<Source> a{source, sink, FastDivisor(columns.tiles / batches), 53 - log2_above(layout.n),
                                        wide};
  return start(exact_short_columns<Source, Loads>, a, l);
}

template <class In, Access A>
cudaError_t start_exact(const exact::ShortColumnsPlan& columns, const exact::ExactPlan&, const Layout& layout,
                        const Buffers& b, const ExactSink& sink, const Launch& l) {
  return start_short_columns<exact::kShortColumnsLoads>(column_source<In, A>(layout, b.in), columns, layout, b, sink,
                                                        l);
}

template <int Loads, class Source>
cudaError_t start_columns(const Source& source, const exact::ColumnsPlan& cut, const exact::ExactPlan& plan,
                          const Layout& layout, const Buffers& b, const ExactSink& sink, const Launch& l) {
  using In = typename Source::Number;
  using F = exact::FormatOf<In>;
  const int64_t columns = layout.kept[layout.kept_dims - 1].size, batches = layout.outputs / columns;
  const int64_t tiles_across = cut.tiles / batches;
  ColumnPartials partials{
      nullptr, nullptr, nullptr, layout.outputs, static_cast<uint32_t>(cut.tiles), static_cast<uint32_t>(plan.units)};
  if (plan.units > 1) {
    partials.sums = static_cast<int64_t*>(b.scratch);
    partials.words = partials.sums + plan.units * 2 * layout.outputs;
    partials.headers =
        reinterpret_cast<ColumnPartials::Header*>(partials.words + plan.units * F::kWords * layout.outputs);
  }
  const ExactColumnsArgs<Source> a{FastDivisor(cut.tiles),
                                   FastDivisor(tiles_across),
                                   cut.unit_rows,
                                   source,
                                   sink,
                                   partials,
                                   cut.log_across,
                                   exact::most_adds(kWarp >> cut.log_across),
                                   exact::most_apart(cut.unit_rows)};
  const cudaError_t status = start(exact_columns<Source, Loads>, a, l);
  if (status != cudaSuccess || plan.units == 1) return status;
  const int64_t ctas_across = ((columns - 1) >> cut.finish_log_across) + 1;
  const ExactFinishColumnsArgs finish{sink,
                                      partials,
                                      FastDivisor(columns),
                                      FastDivisor(ctas_across),
                                      cut.finish_log_across,
                                      log2_above(Source::template Part<Loads>::V << cut.log_across),
                                      static_cast<uint32_t>(tiles_across),
                                      layout.kept[layout.kept_dims - 1].out_stride,
                                      KeptIndex<Access::Strided>(layout, 1),
                                      exact::most_apart(layout.n)};
  return start(exact_finish_columns<In>, finish,
               Launch{ctas_across * batches, cut.finish_block, 0, l.stream, l.dependent});
}

template <class In, Access A>
cudaError_t start_exact(const exact::ColumnsPlan& cut, const exact::ExactPlan& plan, const Layout& layout,
                        const Buffers& b, const ExactSink& sink, const Launch& l) {
  return start_columns<exact::kColumnsLoads>(column_source<In, A>(layout, b.in), cut, plan, layout, b, sink, l);
}

// The plan of a kernel chooses among the functions above, its access the instantiation.
template <class In>
cudaError_t launch_exact_typed(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                               bool dependent) {
  const ExactSink sink = make_exact_sink(plan, p, b);
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, dependent};
  return std::visit(
      [&](const auto& kernel) -> cudaError_t {
        using Kernel = std::decay_t<decltype(kernel)>;
        if constexpr (std::is_same<Kernel, std::monostate>::value ||
                      std::is_same<Kernel, exact::ElementProductsPlan>::value) {
          return cudaSuccess;  // planned for nothing
        } else if (plan.access == Access::Segmented) {
          return start_exact<In, Access::Segmented>(kernel, plan, p.layout, b, sink, l);
        } else if (plan.access == Access::Contiguous) {
          return start_exact<In, Access::Contiguous>(kernel, plan, p.layout, b, sink, l);
        } else {
          return start_exact<In, Access::Strided>(kernel, plan, p.layout, b, sink, l);
        }
      },
      plan.kernel);
}

}  // namespace torch_reduce::cuda
