// From a plan to kernel arguments and a launch: chooses the instantiation, decides nothing.
#pragma once

#include <algorithm>

#include "columns.cuh"
#include "finish.cuh"
#include "launch.h"
#include "rows.cuh"
#include "short_rows.cuh"

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

struct Launch {
  int64_t grid;
  int block;
  int64_t shared_bytes;
  cudaStream_t stream;
  bool after_previous_starts_to_end;  // programmatic dependent launch
};

template <class Args>
cudaError_t start(void (*kernel)(const Args), const Args& args, const Launch& l) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(l.grid));
  config.blockDim = dim3(static_cast<unsigned>(l.block));
  config.dynamicSmemBytes = static_cast<size_t>(l.shared_bytes);
  config.stream = l.stream;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = l.after_previous_starts_to_end ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, args);
}

// Zeroes what atomics will add to. The kernel after it may start at once and waits only before its first addition; a
// memset would have to end first, and took 0.4 to 1.2 us longer on an H200.
template <class Acc>
__global__ void zero(uint32_t* words, int64_t count) {
  allow_next_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) words[i] = 0;
}

template <class Acc>
cudaError_t start_zero(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t bytes =
      plan.atomic_in_out ? p.layout.outputs * static_cast<int64_t>(size_of(p.out)) : plan.zeroed_bytes;
  const int64_t words = bytes / static_cast<int64_t>(sizeof(uint32_t));  // both kinds are multiples of four bytes
  zero<Acc><<<static_cast<unsigned>((words + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<uint32_t*>(plan.atomic_in_out ? b.out : b.scratch), words);
  return cudaGetLastError();
}

template <class Acc>
Sink<Acc> make_sink(const Plan& plan, const Problem& p, const Buffers& b) {
  Sink<Acc> s{};
  s.out = b.out;
  s.type = p.out;
  s.mean = p.op == Op::Mean;
  s.finish = plan.finish;
  s.n = p.layout.n;
  s.outputs = p.layout.outputs;
  s.units = static_cast<uint32_t>(plan.units);
  if (plan.finish == Finish::Partials) {
    s.partials = static_cast<Acc*>(b.scratch);
    s.unit_stride = plan.few_outputs ? 1 : s.outputs;
    s.output_stride = plan.few_outputs ? plan.padded_units : 1;
  }
  if (plan.finish == Finish::Atomic && !plan.atomic_in_out) {
    s.accumulators = static_cast<Acc*>(b.scratch);
    s.tickets = reinterpret_cast<uint32_t*>(s.accumulators + p.layout.outputs);
  }
  return s;
}

template <class Acc, Access A>
RowsArgs<Acc, A> rows_args(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink) {
  return {source,
          sink,
          layout.n,
          layout.outputs,
          FastDivisor(plan.units),
          static_cast<uint32_t>(plan.passes),
          plan.log_slots,
          plan.rows_per_cta,
          {},
          KeptIndex<kept_room(A)>(layout, 0),
          ReducedIndex<reduced_room(A)>(layout)};
}

template <class O, class Acc>
cudaError_t start_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                       const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.segmented) {
        auto a = rows_args<Acc, Access::Segmented>(plan, layout, source, sink);
        a.segments = {FastDivisor(layout.reduced[1].size / vector_width<In>), vector_width<In>,
                      layout.reduced[0].stride};
        return start(rows<O, In, Acc, Access::Segmented>, a, l);
      }
      if (plan.vector) {
        return start(rows<O, In, Acc, Access::Contiguous>,
                     rows_args<Acc, Access::Contiguous>(plan, layout, source, sink), l);
      }
    }
    return start(rows<O, In, Acc, Access::Strided>, rows_args<Acc, Access::Strided>(plan, layout, source, sink), l);
  });
}

template <class Acc, Access A>
ShortRowsArgs<Acc, A> short_rows_args(const Plan& plan, const Layout& layout, const Source& source,
                                      const Sink<Acc>& sink) {
  return {source,
          sink,
          layout.n,
          layout.outputs,
          plan.log_lanes,
          KeptIndex<kept_room(A)>(layout, 0),
          ReducedIndex<reduced_room(A)>(layout)};
}

template <class O, class Acc>
cudaError_t start_short_rows(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                             const Launch& l) {
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      if (plan.vector) {
        return start(short_rows<O, In, Acc, Access::Contiguous>,
                     short_rows_args<Acc, Access::Contiguous>(plan, p.layout, source, sink), l);
      }
    }
    return start(short_rows<O, In, Acc, Access::Strided>,
                 short_rows_args<Acc, Access::Strided>(plan, p.layout, source, sink), l);
  });
}

// Whether every thread's `width` results start at a multiple of `width` of the output.
inline bool stores_are_aligned(const Layout& layout, const void* out, int64_t width, int64_t element_bytes) {
  const int64_t bytes = std::min<int64_t>(width * element_bytes, 16);
  bool aligned = reinterpret_cast<uintptr_t>(out) % bytes == 0 && layout.kept[layout.kept_dims - 1].out_stride == 1;
  for (int d = 0; d + 1 < layout.kept_dims; ++d) aligned &= layout.kept[d].out_stride % width == 0;
  return aligned;
}

template <class Acc, Access A>
ColumnsArgs<Acc, A> columns_args(const Plan& plan, const Layout& layout, const Source& source, const Sink<Acc>& sink) {
  const KeptDim& inner = layout.kept[layout.kept_dims - 1];
  const int64_t batch = layout.outputs / inner.size;
  const int64_t next_row = layout.reduced_dims ? layout.reduced[0].stride : 0;
  return {source,
          sink,
          layout.n,
          inner.size,
          inner.in_stride,
          inner.out_stride,
          next_row,
          next_row * (kWarp >> plan.log_across),
          next_row * kLeaves,
          FastDivisor(plan.tiles),
          FastDivisor(plan.tiles / batch),
          static_cast<uint32_t>(plan.passes),
          plan.log_across,
          plan.log_warps_across,
          plan.log_warps_along,
          plan.batches,
          plan.log_leaves,
          false,
          {},
          KeptIndex<kept_room(A)>(layout, 1),
          ReducedIndex<reduced_room(A)>(layout)};
}

template <class O, class Acc>
cudaError_t start_columns(const Plan& plan, const Problem& p, const Source& source, const Sink<Acc>& sink,
                          const Launch& l) {
  const Layout& layout = p.layout;
  return with_element_type<Acc>(p, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (!std::is_same<In, Any>::value) {
      const bool wide = plan.vector && stores_are_aligned(layout, sink.out, vector_width<In>, sizeof(In));
      if (plan.segmented) {
        auto a = columns_args<Acc, Access::Segmented>(plan, layout, source, sink);
        a.wide_store = wide;
        a.segments = {FastDivisor(layout.reduced[1].size), layout.reduced[1].stride, layout.reduced[0].stride};
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
    return start(columns<O, In, Acc, Access::Strided, 2, kSteps>,
                 columns_args<Acc, Access::Strided>(plan, layout, source, sink), l);
  });
}

template <class O, class Acc, int Dims>
cudaError_t start_finish_with(const Plan& plan, const Problem& p, Sink<Acc> sink, cudaStream_t stream, bool dependent) {
  const int64_t outputs = p.layout.outputs;
  FinishArgs<Acc, Dims> a{sink, 0, 1, KeptIndex<Dims>(p.layout, 0)};
  int64_t threads = kWarp;
  if (plan.few_outputs) {
    while (threads < tuning::kFinishThreads && threads * kFinishSideBySide < plan.units) threads *= 2;
    return start(finish_few<O, Acc, Dims>, a, Launch{outputs, static_cast<int>(threads), 0, stream, dependent});
  }
  while (a.log_across < 5 && (int64_t{1} << a.log_across) < outputs) ++a.log_across;
  int64_t along = 1;
  while (along * kFinishAtOnce < plan.units && (along << a.log_across) < tuning::kFinishThreads) along *= 2;
  while (along * a.units_per_thread < plan.units) a.units_per_thread *= 2;
  threads = std::max<int64_t>(along << a.log_across, kWarp);
  const int64_t grid = (outputs + (int64_t{1} << a.log_across) - 1) >> a.log_across;
  return start(finish_many<O, Acc, Dims>, a, Launch{grid, static_cast<int>(threads), 0, stream, dependent});
}

template <class O, class Acc>
cudaError_t start_finish(const Plan& plan, const Problem& p, const Sink<Acc>& sink, cudaStream_t stream,
                         bool dependent) {
  return p.layout.kept_dims <= kFewDims ? start_finish_with<O, Acc, kFewDims>(plan, p, sink, stream, dependent)
                                        : start_finish_with<O, Acc, kMaxKernelDims>(plan, p, sink, stream, dependent);
}

template <class O, class Acc>
cudaError_t launch_typed(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  const Source source{b.in, p.in, p.as_bool};
  const Sink<Acc> sink = make_sink<Acc>(plan, p, b);
  const bool atomic = plan.finish == Finish::Atomic;
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, atomic && dependent};
  cudaError_t status = atomic ? start_zero<Acc>(plan, p, b, stream) : cudaSuccess;
  if (status != cudaSuccess) return status;
  switch (plan.family) {
    case Family::Rows:
      status = start_rows<O>(plan, p, source, sink, l);
      break;
    case Family::ShortRows:
      status = start_short_rows<O>(plan, p, source, sink, l);
      break;
    default:
      status = start_columns<O>(plan, p, source, sink, l);
  }
  if (status == cudaSuccess && plan.finish == Finish::Partials) {
    status = start_finish<O>(plan, p, sink, stream, dependent);
  }
  return status;
}

}  // namespace torch_reduce::cuda
