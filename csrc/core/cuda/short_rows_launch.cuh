// From a plan to the arguments of short rows and staged rows.
#pragma once

#include "element_type.cuh"
#include "short_rows.cuh"
#include "staged_rows.cuh"
#include "start.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
ShortRowsArgs<Acc, A> short_rows_args(const Plan& plan, const Layout& layout, const Source& source,
                                      const Sink<Acc>& sink) {
  return {source, layout.n, layout.outputs, plan.log_lanes, KeptIndex<A>(layout, 0), sink, ReducedIndex<A>(layout)};
}

template <class O, class Acc>
cudaError_t start_short_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                             const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.segmented) {
        return start(short_rows<O, In, Acc, Access::Segmented, vector_width<In>>,
                     short_rows_args<Acc, Access::Segmented>(plan, p.layout, source, sink), l);
      }
      if (plan.anywhere) {
        auto* kernel = plan.log_lanes < 5 ? staged_rows<O, In, Acc, true> : staged_rows<O, In, Acc, false>;
        const StagedRowsArgs<Acc> a{source,
                                    p.layout.n,
                                    p.layout.outputs,
                                    KeptIndex<Access::Contiguous>(p.layout, 0),
                                    plan.log_lanes,
                                    plan.rows_per_cta / tuning::kShortRowsWarps,
                                    static_cast<int>(plan.shared_bytes / tuning::kShortRowsWarps),
                                    sink};
        return start(kernel, a, l);
      }
      if (plan.vector) {
        return start(short_rows<O, In, Acc, Access::Contiguous, vector_width<In>>,
                     short_rows_args<Acc, Access::Contiguous>(plan, p.layout, source, sink), l);
      }
    }
    return start(short_rows<O, In, Acc, Access::Strided, tuning::kShortRowsElements>,
                 short_rows_args<Acc, Access::Strided>(plan, p.layout, source, sink), l);
  });
}

}  // namespace torch_reduce::cuda
