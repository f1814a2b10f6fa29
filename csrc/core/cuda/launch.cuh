// From a plan to kernel arguments and a launch: chooses the instantiation, and the threads of the finish.
#pragma once

#include <algorithm>

#include "columns.cuh"
#include "finish.cuh"
#include "launch.h"
#include "rows.cuh"
#include "short_rows.cuh"
#include "staged_rows.cuh"
#include "start.cuh"
#include "tiles_launch.cuh"

namespace torch_reduce::cuda {

template <class T>
struct Tag {
  using type = T;
};

// Calls f with the element type, or with Any for those that have no kernels of their own (see has_vector_loads).
template <class Acc, class F>
cudaError_t with_element_type(const Problem& p, F f) {
  if constexpr (std::is_same<Acc, float>::value) {
    if (p.in == DType::Float16) return f(Tag<Half>{});
    if (p.in == DType::BFloat16) return f(Tag<BFloat16>{});
    return f(Tag<float>{});
  } else if constexpr (std::is_same<Acc, double>::value) {
    if (p.in == DType::Float32) return f(Tag<float>{});
    if (p.in == DType::Float64) return f(Tag<double>{});
    return f(Tag<Any>{});
  } else {
    if (p.as_bool) return f(Tag<Any>{});
    if (p.in == DType::Bool) return f(Tag<Bool>{});
    if (p.in == DType::UInt8) return f(Tag<uint8_t>{});
    if (p.in == DType::Int8) return f(Tag<int8_t>{});
    if (p.in == DType::Int16) return f(Tag<int16_t>{});
    if (p.in == DType::Int32) return f(Tag<int32_t>{});
    if (p.in == DType::Int64) return f(Tag<int64_t>{});
    return f(Tag<Any>{});
  }
}

// Zeroes what atomics will add to. A memset took 0.4 to 1.2 us longer on an H200.
struct ZeroArgs {
  uint32_t* words;
  int64_t count;
};
template <class Acc>
__global__ void zero(const __grid_constant__ ZeroArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  wait_for_previous_kernel();
  allow_next_kernel();
  if (i < a.count) a.words[i] = 0;
}

template <class Acc>
cudaError_t start_zero(const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  constexpr int kThreads = 256;
  const int64_t words = p.layout.outputs * static_cast<int64_t>(sizeof(Acc) / sizeof(uint32_t));
  const ZeroArgs a{static_cast<uint32_t*>(b.out), words};
  return start(zero<Acc>, a, Launch{(words + kThreads - 1) / kThreads, kThreads, 0, stream, dependent});
}

// Where CTAs leave the value of unit u of output o, o being the kept index where the kept dims are one.
template <class Acc>
Sink<Acc> make_sink(const Plan& plan, const Problem& p, const Buffers& b) {
  const Layout& l = p.layout;
  Sink<Acc> s{};
  s.n = l.n;
  s.units = static_cast<uint32_t>(plan.units);
  s.atomic = plan.finish == Finish::Atomic;
  s.cluster = plan.finish == Finish::Cluster;
  s.results = plan.finish != Finish::Partials;
  s.mean = p.op == Op::Mean && plan.finish != Finish::Partials;
  if (s.results) {
    s.to = b.out;
    s.type = p.out;
    s.output_stride = l.kept_dims ? l.kept[0].out_stride : 0;
    return s;
  }
  s.to = b.scratch;
  s.type = p.compute;
  s.unit_stride = plan.few_outputs ? 1 : l.outputs;
  s.output_stride = plan.few_outputs ? plan.padded_units : 1;
  return s;
}

template <class O, class In, class Acc, Access A>
RowsArgs<Acc, A> rows_args(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink) {
  constexpr int64_t kAtOnce = rows_chunks_at_once<O, In, Acc, A>;
  const int64_t chunks = std::min<int64_t>(int64_t{1} << plan.log_slots, std::max<int64_t>(chunk_count(layout.n), 1));
  return {source,
          layout.n,
          layout.outputs,
          FastDivisor(plan.units),
          FastDivisor((chunks + kAtOnce - 1) / kAtOnce),
          plan.log_slots,
          plan.rows_per_cta,
          KeptIndex<A>(layout, 0),
          sink,
          {},
          ReducedIndex<A>(layout)};
}

template <class O, class Acc>
cudaError_t start_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                       const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.segmented) {
        auto a = rows_args<O, In, Acc, Access::Segmented>(plan, layout, source, sink);
        a.segments = segments(layout, vector_width<In>);
        return start(rows<O, In, Acc, Access::Segmented>, a, l);
      }
      if (plan.anywhere && layout.reduced_dims == 2) {
        auto a = rows_args<O, In, Acc, Access::AnywhereSegmented>(plan, layout, source, sink);
        a.segments = segments(layout, 1);
        return start(rows<O, In, Acc, Access::AnywhereSegmented>, a, l);
      }
      if (plan.anywhere) {
        return start(rows<O, In, Acc, Access::Anywhere>,
                     rows_args<O, In, Acc, Access::Anywhere>(plan, layout, source, sink), l);
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

template <class Acc, Access A>
ShortRowsArgs<Acc, A> short_rows_args(const Plan& plan, const Layout& layout, const Source& source,
                                      const Sink<Acc>& sink) {
  return {source, layout.n, layout.outputs, plan.log_lanes, KeptIndex<A>(layout, 0), sink, ReducedIndex<A>(layout)};
}

template <class O, class Acc>
cudaError_t start_short_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                             const Launch& l) {
  return with_element_type<Acc>(p, [&](auto tag) {
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
    auto* kernel = short_rows<O, In, Acc, Access::Strided, 1>;
    if (plan.lane_elements > 1) kernel = short_rows<O, In, Acc, Access::Strided, tuning::kShortRowsElements>;
    return start(kernel, short_rows_args<Acc, Access::Strided>(plan, p.layout, source, sink), l);
  });
}

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
          plan.log_across,
          plan.log_warps_across,
          plan.log_warps_along,
          plan.log_batches,
          static_cast<int>(plan.cluster_offset / static_cast<int64_t>(sizeof(Acc))),
          column_stride,
          KeptIndex<A>(layout, 1),
          sink,
          columns.out_stride,
          false,
          columns.in_stride,
          {},
          ReducedIndex<A>(layout)};
}

template <class O, class Acc>
cudaError_t start_columns(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                          const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      const bool wide = plan.finish == Finish::Direct && p.in == p.out &&
                        stores_are_aligned(layout, sink.to, vector_width<In>, sizeof(In));
      if (plan.anywhere) {
        auto a = columns_args<Acc, Access::Anywhere>(plan, layout, source, sink);
        a.wide_store = wide;
        if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Anywhere, 8, 1>, a, l);
        return start(columns<O, In, Acc, Access::Anywhere, 2, kSteps>, a, l);
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
        if (plan.batch_leaves == 4) return start(columns<O, In, Acc, Access::Contiguous, 4, 1>, a, l);
        if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Contiguous, 8, 1>, a, l);
        return start(columns<O, In, Acc, Access::Contiguous, 2, kSteps>, a, l);
      }
    }
    const auto a = columns_args<Acc, Access::Strided>(plan, layout, source, sink);
    if (plan.batch_leaves == 8) return start(columns<O, In, Acc, Access::Strided, 8, 1>, a, l);
    return start(columns<O, In, Acc, Access::Strided, 2, kSteps>, a, l);
  });
}

// Only an order that matters needs tiles.
template <class O, class Acc>
cudaError_t start_tiles(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                        const Launch& l) {
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (order_free<O, Acc> || std::is_same<In, Any>::value) {
      return cudaErrorInvalidValue;
    } else {
      return start_tiles<O, In>(plan, p.layout, source.data, sink, l);
    }
  });
}

template <class O, class Acc, Access A>
cudaError_t start_finish_with(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                              bool dependent) {
  const Layout& l = p.layout;
  const int64_t outputs = l.outputs;
  FinishArgs<Acc, A> a{static_cast<const Acc*>(b.scratch),
                       b.out,
                       l.n,
                       outputs,
                       plan.padded_units,
                       l.kept_dims ? l.kept[0].out_stride : 0,
                       static_cast<uint32_t>(plan.units),
                       p.out,
                       p.op == Op::Mean,
                       0,
                       1,
                       KeptIndex<A>(l, 0)};
  int64_t threads = kWarp;
  if (plan.few_outputs) {
    while (threads < tuning::kFinishThreads && threads * kFinishSideBySide<Acc> < plan.units) threads *= 2;
    a.units_per_thread = kFinishSideBySide<Acc>;
    while (threads * a.units_per_thread < plan.units) a.units_per_thread *= 2;
    return start(finish_few<O, Acc, A>, a, Launch{outputs, static_cast<int>(threads), 0, stream, dependent});
  }
  while (a.log_across < 5 && (int64_t{1} << a.log_across) < outputs) ++a.log_across;
  int64_t along = 1;
  while (along * kFinishAtOnce < plan.units && (along << a.log_across) < tuning::kFinishThreads) along *= 2;
  while (along * a.units_per_thread < plan.units) a.units_per_thread *= 2;
  threads = std::max<int64_t>(along << a.log_across, kWarp);
  const int64_t grid = (outputs + (int64_t{1} << a.log_across) - 1) >> a.log_across;
  return start(finish_many<O, Acc, A>, a, Launch{grid, static_cast<int>(threads), 0, stream, dependent});
}

template <class O, class Acc>
cudaError_t start_finish(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  return p.layout.kept_dims <= 1 ? start_finish_with<O, Acc, Access::Contiguous>(plan, p, b, stream, dependent)
                                 : start_finish_with<O, Acc, Access::Strided>(plan, p, b, stream, dependent);
}

template <class O, class Acc>
cudaError_t launch_typed(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  const Source source{b.in, p.in, p.as_bool};
  const Sink<Acc> sink = make_sink<Acc>(plan, p, b);
  const bool atomic = plan.finish == Finish::Atomic;
  const Launch l{plan.grid, plan.block, plan.shared_bytes,
                 stream,    dependent,  plan.finish == Finish::Cluster ? static_cast<int>(plan.units) : 1};
  cudaError_t status = atomic ? start_zero<Acc>(p, b, stream, dependent) : cudaSuccess;
  if (status != cudaSuccess) return status;
  switch (plan.family) {
    case Family::Rows:
      status = start_rows<O>(plan, p, source, sink, l);
      break;
    case Family::ShortRows:
      status = start_short_rows<O>(plan, p, source, sink, l);
      break;
    case Family::Tiles:
      status = start_tiles<O>(plan, p, source, sink, l);
      break;
    default:
      status = start_columns<O>(plan, p, source, sink, l);
  }
  if (status == cudaSuccess && plan.finish == Finish::Partials) {
    status = start_finish<O, Acc>(plan, p, b, stream, dependent);
  }
  return status;
}

}  // namespace torch_reduce::cuda
