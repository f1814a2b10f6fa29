// From a plan to the arguments of short rows, staged rows and scattered rows.
#pragma once

#include <algorithm>

#include "element_type.cuh"
#include "scattered_rows.cuh"
#include "short_rows.cuh"
#include "staged_rows.cuh"
#include "start.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
ShortRowsArgs<Acc, A> short_rows_args(const Plan& plan, const Layout& layout, const Source& source,
                                      const Sink<Acc>& sink) {
  return {source, layout.n, layout.outputs, plan.log_lanes, KeptIndex<A>(layout, 0), sink};
}

// Outputs in the order of their results: what only copies reads across memory rather than writes across it, as parts of
// sectors are slower to write. (1034, 11610) of fp32, transposed, took 203 us.
inline Layout by_output(Layout layout) {
  std::sort(layout.kept, layout.kept + layout.kept_dims,
            [](const KeptDim& a, const KeptDim& b) { return a.out_stride > b.out_stride; });
  return layout;
}

template <class O, class Acc>
cudaError_t start_short_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                             const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.segmented) {
        return start(short_rows<O, In, Acc, Access::Segmented>,
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
        return start(short_rows<O, In, Acc, Access::Contiguous>,
                     short_rows_args<Acc, Access::Contiguous>(plan, p.layout, source, sink), l);
      }
    }
    auto* kernel = plan.lane_elements == 1   ? scattered_rows<O, In, Acc, 1, 8>
                   : plan.lane_elements == 2 ? scattered_rows<O, In, Acc, 2, 8>
                   : plan.lane_elements == 4 ? scattered_rows<O, In, Acc, 4, 4>
                   : plan.lane_rows == 2     ? scattered_rows<O, In, Acc, 8, 2>
                                             : scattered_rows<O, In, Acc, 8, 1>;
    const ScatteredRowsArgs<Acc> a{source,
                                   p.layout.n,
                                   p.layout.outputs,
                                   plan.log_lanes,
                                   KeptIndex<Access::Strided>(p.layout.n == 1 ? by_output(p.layout) : p.layout, 0),
                                   sink,
                                   ReducedIndex<Access::Strided>(p.layout)};
    return start(kernel, a, l);
  });
}

}  // namespace torch_reduce::cuda
