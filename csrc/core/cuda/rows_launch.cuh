// From a plan to the arguments of rows.
#pragma once

#include "element_type.cuh"
#include "rows.cuh"
#include "start.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc, Access A>
RowsArgs<Acc, A> rows_args(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink) {
  constexpr int64_t kAtOnce = rows_chunks_at_once<O, In, Acc, A>;
  const int64_t chunks = std::min<int64_t>(int64_t{1} << plan.log_slots, std::max<int64_t>(chunk_count(layout.n), 1));
  return {source,
          layout.n,
          layout.outputs,
          FastDivisor(plan.interleaved ? plan.tiles : plan.units),
          FastDivisor((chunks + kAtOnce - 1) / kAtOnce),
          plan.log_slots,
          plan.rows_per_cta,
          plan.interleaved,
          kept_index<A>(layout, 0, source.type),
          sink,
          {},
          reduced_index<A>(layout, source.type)};
}

template <class O, class Acc>
cudaError_t start_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                       const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.segmented) {
        auto a = rows_args<O, In, Acc, Access::Segmented>(plan, layout, source, sink);
        a.segments = segments(layout, vector_width<In>);
        return start(rows<O, In, Acc, Access::Segmented>, a, l);
      }
      if constexpr (sizeof(In) <= tuning::kRowsAnywhereElement) {
        if (plan.anywhere && layout.reduced_dims == 2) {
          auto a = rows_args<O, In, Acc, Access::AnywhereSegmented>(plan, layout, source, sink);
          a.segments = segments(layout, 1);
          return start(rows<O, In, Acc, Access::AnywhereSegmented>, a, l);
        }
        if (plan.anywhere) {
          return start(rows<O, In, Acc, Access::Anywhere>,
                       rows_args<O, In, Acc, Access::Anywhere>(plan, layout, source, sink), l);
        }
      }
      if (plan.vector) {
        return start(rows<O, In, Acc, Access::Contiguous>,
                     rows_args<O, In, Acc, Access::Contiguous>(plan, layout, source, sink), l);
      }
    }
    return start(rows<O, In, Acc, Access::Strided>, rows_args<O, In, Acc, Access::Strided>(plan, layout, source, sink),
                 l);
  });
}

}  // namespace torch_reduce::cuda
