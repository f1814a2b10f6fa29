// From a plan to the arguments of rows.
#pragma once

#include "core/cuda/rows/rows.cuh"
#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/nest.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

template <class O, Access A>
SegmentsOf<O, A> segments_of(const RowsPlan& plan, const Nest<O>& nest, int64_t vector_width) {
  if constexpr (A == Access::Unordered) {
    return UnorderedSegments(plan.segment_vectors, nest.layout);
  } else if constexpr (A == Access::Segmented || A == Access::UnalignedSegmented) {
    return nest.segments(A == Access::Segmented ? vector_width : 1);
  } else {
    return {};
  }
}

template <class O, class Acc, Access A>
RowsArgs<O, Acc, A> rows_args(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink) {
  const Layout& layout = p.layout;
  const Nest<O> nest(p);
  const RowsPlan& rows = plan.as<RowsPlan>();
  return {source,
          rows.places,
          layout.outputs,
          FastDivisor(rows.interleaved ? plan.grid / plan.units : plan.units),
          FastDivisor(rows.steps),
          rows.log_slots,
          rows.rows_per_cta,
          rows.interleaved,
          nest.template kept<A>(0),
          sink,
          segments_of<O, A>(rows, nest, 16 / static_cast<int64_t>(size_of(source.type))),
          nest.template reduced<A>()};
}

template <class O, class Acc>
cudaError_t start_rows(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink,
                       const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    return with_access<RowsExist<O, In, Acc>>(plan.access, [&](auto access) {
      constexpr Access A = decltype(access)::value;
      constexpr int kAtOnce = rows_chunks_at_once<O, In, Acc, A>;
      const auto args = rows_args<O, Acc, A>(plan, p, source, sink);
      if constexpr (A == Access::Unaligned && kAtOnce > 1) {  // of a few chunks, some read at once would not exist
        if (plan.as<RowsPlan>().chunks_at_once == 1) return start(rows<O, In, Acc, A, 1>, args, l);
      }
      return start(rows<O, In, Acc, A, kAtOnce>, args, l);
    });
  });
}

}  // namespace torch_reduce::cuda
