// From a plan to the arguments of short rows, staged rows, scattered rows and copies.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "core/cuda/short_rows/copies.cuh"
#include "core/cuda/short_rows/scattered.cuh"
#include "core/cuda/short_rows/short_rows.cuh"
#include "core/cuda/short_rows/staged.cuh"
#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/nest.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc, Access A>
ShortRowsArgs<O, Acc, A> short_rows_args(const Plan& plan, const Problem& p, const SourceOf<O>& source,
                                         const Sink<Acc>& sink) {
  return {source, p.layout.n, p.layout.outputs, plan.as<ShortRowsPlan>().log_lanes, Nest<O>(p).template kept<A>(0),
          sink};
}

// Outputs in the order of their results: what only copies reads across memory rather than writes across it, as parts of
// sectors are slower to write.
inline Layout by_output(Layout layout) {
  std::sort(layout.kept, layout.kept + layout.kept_dims,
            [](const KeptDim& a, const KeptDim& b) { return a.out_stride > b.out_stride; });
  return layout;
}

template <class Acc>
CopiesArgs<Acc> copies_args(const CopiesPlan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink) {
  const auto bytes = static_cast<int64_t>(size_of(p.in));
  const auto in_bytes = [&](KeptDim dim) { return KeptDim{dim.size, dim.in_stride * bytes, dim.out_stride}; };
  Layout outer = p.layout;
  const KeptDim lanes = in_bytes(outer.kept[--outer.kept_dims]), rows = in_bytes(outer.kept[plan.rows]);
  std::copy(outer.kept + plan.rows + 1, outer.kept + outer.kept_dims, outer.kept + plan.rows);
  --outer.kept_dims;
  return {source,
          lanes,
          rows,
          FastDivisor(plan.across),
          FastDivisor(plan.across * plan.down),
          std::abs(rows.out_stride) < std::abs(lanes.out_stride),
          kept_index<Access::Strided>(outer, 0, p.in),
          sink};
}

template <class O, class Acc>
cudaError_t start_copies(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                         const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) -> cudaError_t {
    using In = typename decltype(tag)::type;
    if constexpr (kernels::have_copies(types_of_instance<O, In, Acc>())) {
      return start(copies<O, In, Acc>, copies_args<Acc>(plan.as<CopiesPlan>(), p, source, sink), l);
    }
    return cudaErrorInvalidValue;
  });
}

// Rows that a warp stages in shared memory.
template <class O, class In, class Acc>
cudaError_t start_unaligned(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink,
                            const Launch& l) {
  const ShortRowsPlan& rows = plan.as<ShortRowsPlan>();
  auto* kernel = rows.log_lanes < 5 ? staged_rows<O, In, Acc, true> : staged_rows<O, In, Acc, false>;
  const StagedRowsArgs<Acc> a{source,
                              layout.n,
                              layout.outputs,
                              KeptIndex<Access::Contiguous>(layout, 0),
                              rows.log_lanes,
                              rows.rows_per_cta / tuning::kShortRowsWarps,
                              static_cast<int>(plan.shared_bytes / tuning::kShortRowsWarps),
                              sink};
  return start(kernel, a, l);
}

template <class O>
KeptOf<O, Access::Strided> kept_of_rows(const Problem& p, const Nest<O>& nest) {
  if constexpr (!has_partner<O>) {
    if (p.layout.n == 1) return kept_index<Access::Strided>(by_output(p.layout), 0, p.in);
  }
  return nest.template kept<Access::Strided>(0);
}

template <int Value>
using Number = std::integral_constant<int, Value>;

// Rows that are read an element at a time.
template <class O, class In, class Acc>
cudaError_t start_scattered(const ShortRowsPlan& rows, const Problem& p, const SourceOf<O>& source,
                            const Sink<Acc>& sink, const Launch& l) {
  void (*kernel)(ScatteredRowsArgs<O, Acc>) = nullptr;
  const auto take_if = [&](auto elements, auto of_rows) {
    constexpr int kElements = decltype(elements)::value, kRows = decltype(of_rows)::value;
    if constexpr (kernels::have_scattered_rows(types_of_instance<O, In, Acc>(), kElements, kRows)) {
      if (rows.lane_elements == kElements && rows.lane_rows == kRows) {
        kernel = scattered_rows<O, In, Acc, kElements, kRows>;
      }
    }
  };
  take_if(Number<1>{}, Number<8>{});
  take_if(Number<2>{}, Number<8>{});
  take_if(Number<4>{}, Number<4>{});
  take_if(Number<8>{}, Number<2>{});
  take_if(Number<8>{}, Number<1>{});
  if (kernel == nullptr) return cudaErrorInvalidValue;
  const Nest<O> nest(p);
  const ScatteredRowsArgs<O, Acc> a{source,
                                    p.layout.n,
                                    p.layout.outputs,
                                    rows.log_lanes,
                                    kept_of_rows<O>(p, nest),
                                    sink,
                                    nest.template reduced<Access::Strided>()};
  return start(kernel, a, l);
}

template <class O, class Acc>
cudaError_t start_short_rows(const Plan& plan, const Problem& p, const SourceOf<O>& source, const Sink<Acc>& sink,
                             const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    return with_access<ShortRowsExist<O, In, Acc>>(plan.access, [&](auto access) {
      constexpr Access A = decltype(access)::value;
      if constexpr (A == Access::Unaligned) {
        return start_unaligned<O, In>(plan, p.layout, source, sink, l);
      } else if constexpr (A == Access::Strided) {
        return start_scattered<O, In>(plan.as<ShortRowsPlan>(), p, source, sink, l);
      } else {
        return start(short_rows<O, In, Acc, A>, short_rows_args<O, Acc, A>(plan, p, source, sink), l);
      }
    });
  });
}

}  // namespace torch_reduce::cuda
