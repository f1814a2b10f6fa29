// From a plan to the arguments of tiles and strips.
#pragma once

#include "core/cuda/start/element_type.cuh"
#include "core/cuda/start/start.cuh"
#include "core/cuda/tiles/strips.cuh"
#include "core/cuda/tiles/tiles.cuh"

namespace torch_reduce::cuda {

template <class O, class In, class Acc>
cudaError_t start_tiles(const TilesPlan& t, const Layout& l, const void* data, const Sink<Acc>& sink,
                        const Launch& launch) {
  const TilesArgs<Acc> a{data,
                         l.n,
                         t.row,
                         t.units_of_row,
                         t.line,
                         t.rows_per_cta,
                         t.log_slots,
                         t.log_chunks,
                         t.along,
                         t.pad_shift,
                         t.tile_bytes,
                         sink,
                         TileRows(l, t.outer, sink.results ? 0 : sink.output_stride),
                         reduced_dims(l, 0, t.cut),
                         reduced_dims(l, t.cut, l.reduced_dims)};
  return start(tiles<O, In, Acc>, a, launch);
}

template <class O, class In, class Acc>
cudaError_t start_strips(const StripsPlan& s, bool vector, const Layout& l, const void* data, const Sink<Acc>& sink,
                         const Launch& launch) {
  const StripsArgs<Acc> a{data,
                          l.n,
                          s.row,
                          s.range,
                          s.ranges_of_row,
                          s.rows_per_cta,
                          s.log_slots,
                          vector,
                          sink,
                          TileRows(l, s.cut, sink.results ? 0 : sink.output_stride),
                          reduced_dims(l, 0, s.cut),
                          reduced_dims(l, s.cut, l.reduced_dims)};
  return start(strips<O, In, Acc>, a, launch);
}

template <class O, class Acc>
cudaError_t start_tiles_or_strips(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                                  const Launch& l) {
  return with_element_type<O, Acc>(p, [&](auto tag) -> cudaError_t {
    using In = typename decltype(tag)::type;
    if constexpr (kernels::have_tiles(types_of_instance<O, In, Acc>())) {
      if (plan.is<TilesPlan>()) return start_tiles<O, In>(plan.as<TilesPlan>(), p.layout, source.data, sink, l);
      return start_strips<O, In>(plan.as<StripsPlan>(), loads_vectors(plan.access), p.layout, source.data, sink, l);
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace torch_reduce::cuda
