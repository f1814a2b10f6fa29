// From a plan to the arguments of columns.
#pragma once

#include "core/cuda/columns/stacked.cuh"
#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
ColumnsArgs<Acc, A> columns_args(const Plan& plan, const Layout& layout, const Source& source, Sink<Acc> sink) {
  const KeptDim& columns = layout.kept[layout.kept_dims - 1];
  const int64_t next_row = layout.reduced_dims ? layout.reduced[0].stride : 0;
  const int64_t column_stride = sink.results ? columns.out_stride : sink.output_stride;
  if (!sink.results) sink.output_stride *= columns.size;
  return {source,
          layout.n,
          columns.size,
          next_row,
          next_row * kLeaves,
          FastDivisor(plan.tiles),
          FastDivisor(plan.tiles / (layout.outputs / columns.size)),
          static_cast<uint32_t>(leaf_count(layout.n)),
          plan.log_across,
          plan.log_warps_across,
          plan.log_warps_along,
          plan.log_batches,
          static_cast<int>(plan.cluster_offset / static_cast<int64_t>(sizeof(Acc))),
          column_stride,
          kept_index<A>(layout, 1, source.type),
          sink,
          columns.out_stride,
          false,
          columns.in_stride * static_cast<int64_t>(size_of(source.type)),
          {},
          reduced_index<A>(layout, source.type)};
}

// Whether a thread's results of `width` columns are one store.
template <class In>
bool has_wide_stores(const Plan& plan, const Problem& p, const void* to, int width) {
  return plan.finish == Finish::Direct && dtype_of<In>::value == p.out &&
         stores_are_aligned(p.layout, to, width, sizeof(In));
}

// Whether there are kernels for pairs of columns; a plan has none where not.
template <class O, class In, class Acc>
constexpr bool has_pairs =
    !std::is_same<O, Prod>::value && std::is_same<Acc, float>::value && !std::is_same<In, Any>::value;

template <class O, class Acc>
cudaError_t start_columns(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                          const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      const bool wide = has_wide_stores<In>(plan, p, sink.to, vector_width<In>);
      if constexpr (sizeof(In) <= tuning::kColumnsAnywhereElement) {
        if (plan.anywhere) {
          auto a = columns_args<Acc, Access::Anywhere>(plan, layout, source, sink);
          a.wide_store = wide;
          if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Anywhere, 8, 1>, a, l);
          return start(columns<O, In, Acc, Access::Anywhere, 2, kSteps>, a, l);
        }
      }
      if (plan.segmented) {
        auto a = columns_args<Acc, Access::Segmented>(plan, layout, source, sink);
        a.wide_store = wide;
        a.segments = segments(layout, 1);
        return start(columns<O, In, Acc, Access::Segmented, 2, kSteps>, a, l);
      }
      if (plan.vector) {
        auto a = columns_args<Acc, Access::Contiguous>(plan, layout, source, sink);
        a.wide_store = wide;
        if (plan.stacked) return start(stacked_columns<O, In, Acc, uint4>, a, l);
        if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Contiguous, 8, 1>, a, l);
        if (sink.cluster) return start(columns<O, In, Acc, Access::Contiguous, 2, kSteps, true>, a, l);
        return start(columns<O, In, Acc, Access::Contiguous, 2, kSteps>, a, l);
      }
    }
    if constexpr (has_pairs<O, In, Acc>) {
      if (plan.pairs && plan.stacked) {
        auto a = columns_args<Acc, Access::Contiguous>(plan, layout, source, sink);
        a.wide_store = has_wide_stores<In>(plan, p, sink.to, 2);
        return start(stacked_columns<O, In, Acc, PairOf<In>>, a, l);
      }
      if (plan.pairs) {
        const auto a = columns_args<Acc, Access::Pairs>(plan, layout, source, sink);
        if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Pairs, 8, 1>, a, l);
        return start(columns<O, In, Acc, Access::Pairs, 4, kSteps>, a, l);
      }
    }
    const auto a = columns_args<Acc, Access::Strided>(plan, layout, source, sink);
    if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Strided, 8, 1>, a, l);
    return start(columns<O, In, Acc, Access::Strided, 4, kSteps>, a, l);
  });
}

}  // namespace torch_reduce::cuda
