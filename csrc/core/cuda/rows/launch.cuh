// From a plan to the arguments of rows.
#pragma once

#include "core/cuda/rows/rows.cuh"
#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

template <Access A>
auto segments_of(const Plan& plan, const Layout& layout, int64_t vector_width) {
  if constexpr (A == Access::Runs) {
    return Runs(plan, layout);
  } else if constexpr (A == Access::Segmented || A == Access::AnywhereSegmented) {
    return segments(layout, A == Access::Segmented ? vector_width : 1);
  } else {
    return Segments{};
  }
}

template <class Acc, Access A>
RowsArgs<Acc, A> rows_args(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink,
                           int64_t at_once) {
  const int64_t places = rows_places(plan, layout, 16 / static_cast<int64_t>(size_of(source.type)));
  const int64_t chunks = std::min<int64_t>(int64_t{1} << plan.log_slots, std::max<int64_t>(chunk_count(places), 1));
  return {source,
          places,
          layout.outputs,
          FastDivisor(plan.interleaved ? plan.tiles : plan.units),
          FastDivisor((chunks + at_once - 1) / at_once),
          plan.log_slots,
          plan.rows_per_cta,
          plan.interleaved,
          kept_index<A>(layout, 0, source.type),
          sink,
          segments_of<A>(plan, layout, 16 / static_cast<int64_t>(size_of(source.type))),
          reduced_index<A>(layout, source.type)};
}

template <Access A>
using With = std::integral_constant<Access, A>;

// Whether there are kernels for runs; a plan has none where not.
template <class O, class In, class Acc>
constexpr bool has_runs =
    !std::is_same<O, Prod>::value && !std::is_same<Acc, double>::value && sizeof(In) <= tuning::kRunsElement;

template <class O, class Acc>
cudaError_t start_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                       const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    const auto start_with = [&](auto access, auto at_once) {
      constexpr Access A = decltype(access)::value;
      constexpr int kAtOnce = decltype(at_once)::value;
      return start(rows<O, In, Acc, A, kAtOnce>, rows_args<Acc, A>(plan, p.layout, source, sink, kAtOnce), l);
    };
    const auto start_as_usual = [&](auto access) {
      constexpr int kAtOnce = rows_chunks_at_once<O, In, Acc, decltype(access)::value>;
      return start_with(access, std::integral_constant<int, kAtOnce>{});
    };
    if constexpr (!std::is_same<In, Any>::value) {
      if constexpr (has_runs<O, In, Acc>) {
        if (plan.run_vectors) return start_as_usual(With<Access::Runs>{});
      }
      if (plan.segmented) return start_as_usual(With<Access::Segmented>{});
      if constexpr (sizeof(In) <= tuning::kRowsAnywhereElement) {
        if (plan.anywhere && p.layout.reduced_dims == 2) return start_as_usual(With<Access::AnywhereSegmented>{});
        if (plan.anywhere && plan.chunks_at_once == 1) {
          return start_with(With<Access::Anywhere>{}, std::integral_constant<int, 1>{});
        }
        if (plan.anywhere) return start_as_usual(With<Access::Anywhere>{});
      }
      if (plan.vector) return start_as_usual(With<Access::Contiguous>{});
    }
    return start_as_usual(With<Access::Strided>{});
  });
}

}  // namespace torch_reduce::cuda
