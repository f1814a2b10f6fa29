// From a plan to the arguments of columns.
#pragma once

#include "core/cuda/columns/stacked.cuh"
#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/nest.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

// The part that columns and stacked columns share. `tiles` are side by side over the columns of all outer places.
template <class O, class Acc, Access A>
ColumnsArgs<O, Acc, A> columns_args(const Problem& p, int64_t tiles, const SourceOf<O>& source, Sink<Acc> sink) {
  const Layout& layout = p.layout;
  const Nest<O> nest(p);
  const KeptDim& columns = layout.kept[layout.kept_dims - 1];
  const Place<O> next_row = nest.next_row();
  const int64_t column_stride = sink.results ? columns.out_stride : sink.output_stride;
  if (!sink.results) sink.output_stride *= columns.size;
  ColumnsArgs<O, Acc, A> a{source,
                           layout.n,
                           columns.size,
                           next_row,
                           kLeaves * next_row,
                           FastDivisor(tiles),
                           FastDivisor(tiles / (layout.outputs / columns.size)),
                           static_cast<uint32_t>(leaf_count(layout.n)),
                           0,
                           0,
                           0,
                           0,
                           0,
                           column_stride,
                           nest.template kept<A>(1),
                           sink,
                           columns.out_stride,
                           false,
                           nest.next_column_bytes(),
                           {},
                           nest.template reduced<A>()};
  if constexpr (A == Access::Segmented) a.segments = nest.segments(1);
  return a;
}

template <class O, class Acc, Access A>
ColumnsArgs<O, Acc, A> columns_args(const Plan& plan, const Problem& p, const SourceOf<O>& source,
                                    const Sink<Acc>& sink) {
  const ColumnsPlan& columns = plan.as<ColumnsPlan>();
  auto a = columns_args<O, Acc, A>(p, columns.tiles, source, sink);
  a.log_across = columns.log_across;
  a.log_warps_across = columns.log_warps_across;
  a.log_warps_along = columns.log_warps_along;
  a.log_batches = columns.log_batches;
  a.cluster_slots = static_cast<int>(columns.cluster_offset / static_cast<int64_t>(sizeof(Acc)));
  return a;
}

// Whether a thread's results of `width` columns are one store.
template <class In>
bool has_wide_stores(const Plan& plan, const Problem& p, const void* to, int width) {
  const bool is_likely = may_write_wide<In> && (is_floating(p.compute) || traits_of(p.op).ending == Ending::Own);
  return is_likely && p.second == 0 && !divides_by_counts(p) && plan.finish == Finish::Direct &&
         dtype_of<In>::value == p.out && stores_are_aligned(p.layout, to, width, sizeof(In));
}

// Of a few elements: `Raw` is what a thread loads of a row.
template <class O, class In, class Acc, class Raw>
cudaError_t start_stacked(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink,
                          const Launch& l) {
  const StackedPlan& stacked = plan.as<StackedPlan>();
  auto a = columns_args<O, Acc, Access::Contiguous>(p, stacked.threads, source, sink);
  a.wide_store = has_wide_stores<In>(plan, p, sink.to, static_cast<int>(stacked.columns));
  return start(stacked_columns<O, In, Acc, Raw>, a, l);
}

template <class O, class Acc>
cudaError_t start_stacked(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink,
                          const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) -> cudaError_t {
    using In = typename decltype(tag)::type;
    if constexpr (StackedColumnsExist<O, In, Acc>::value(Access::Contiguous)) {
      if (plan.access == Access::Contiguous) return start_stacked<O, In, Acc, uint4>(plan, p, source, sink, l);
    }
    if constexpr (StackedColumnsExist<O, In, Acc>::value(Access::Pairs)) {
      if (plan.access == Access::Pairs) return start_stacked<O, In, Acc, PairOf<In>>(plan, p, source, sink, l);
    }
    return cudaErrorInvalidValue;
  });
}

template <class O, class Acc>
cudaError_t start_columns(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink,
                          const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    return with_access<ColumnsExist<O, In, Acc>>(plan.access, [&](auto access) {
      constexpr Access A = decltype(access)::value;
      auto a = columns_args<O, Acc, A>(plan, p, source, sink);
      if constexpr (loads_vectors(A)) a.wide_store = has_wide_stores<In>(plan, p, sink.to, vector_width<In>);
      const auto start_with = [&](auto steps) {
        constexpr int kTogether = decltype(steps)::value,
                      kBatch = columns_batch<O, In, Acc, A, kTogether>.loads / kTogether;
        if constexpr (columns_apart_in_clusters<A, kTogether>) {
          if (plan.finish == Finish::Cluster) return start(columns<O, In, Acc, A, kBatch, kTogether, true>, a, l);
        }
        return start(columns<O, In, Acc, A, kBatch, kTogether>, a, l);
      };
      const int steps = plan.as<ColumnsPlan>().steps;
      if constexpr (A != Access::Segmented) {
        if (steps == 1) return start_with(std::integral_constant<int, 1>{});
      }
      if constexpr (kernels::have_columns_of_two_steps(types_of_instance<O, In, Acc>(), A)) {
        if (steps == 2) return start_with(std::integral_constant<int, 2>{});
      }
      return start_with(std::integral_constant<int, kSteps>{});
    });
  });
}

}  // namespace torch_reduce::cuda
