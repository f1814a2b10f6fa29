// From a plan to the arguments of tiles and strips.
#pragma once

#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/start.cuh"
#include "core/cuda/tiles/strips.cuh"
#include "core/cuda/tiles/tiles.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc>
cudaError_t start_tiles(const Plan& plan, const Layout& l, const void* data, const Sink<Acc>& sink,
                        const Launch& launch) {
  int64_t row = 1, line = 1;
  for (int d = plan.outer; d < l.reduced_dims; ++d) row *= l.reduced[d].size;
  for (int d = plan.cut; d < l.reduced_dims; ++d) line *= l.reduced[d].size;
  const TileRows rows(l, plan.outer, sink.results ? 0 : sink.output_stride);
  const auto lines = reduced_dims(l, 0, plan.cut), columns = reduced_dims(l, plan.cut, l.reduced_dims);
  if (plan.strips) {
    const int64_t ranges = (row + plan.range - 1) / plan.range;
    const StripsArgs<Acc> a{data,           l.n,         row,  plan.range, ranges, plan.rows_per_cta,
                            plan.log_slots, plan.vector, sink, rows,       lines,  columns};
    return start(strips<O, In, Acc>, a, launch);
  }
  const int64_t unit = int64_t{kChunk} << plan.log_slots;
  const TilesArgs<Acc> a{data,
                         l.n,
                         row,
                         (row + unit - 1) / unit,
                         static_cast<int>(line),
                         plan.rows_per_cta,
                         plan.log_slots,
                         plan.log_chunks,
                         plan.along,
                         plan.pad_shift,
                         plan.tile_bytes,
                         sink,
                         rows,
                         lines,
                         columns};
  return start(tiles<O, In, Acc>, a, launch);
}

// Only an order that matters needs tiles.
template <class O, class Acc>
cudaError_t start_tiles(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                        const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (order_free<O, Acc> || std::is_same<In, Any>::value) {
      return cudaErrorInvalidValue;
    } else {
      return start_tiles<O, In>(plan, p.layout, source.data, sink, l);
    }
  });
}

}  // namespace torch_reduce::cuda
