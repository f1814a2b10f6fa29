// From a plan to launches: where results go, the kernel of the plan's family, and those before and after it.
#pragma once

#include "core/cuda/columns/launch.cuh"
#include "core/cuda/finish/launch.cuh"
#include "core/cuda/rows/launch.cuh"
#include "core/cuda/short_rows/launch.cuh"
#include "core/cuda/start/target.cuh"
#include "core/cuda/start/zero.cuh"
#include "core/cuda/tiles/launch.cuh"

namespace torch_reduce::cuda {

// What atomics will add to.
template <class Acc>
cudaError_t start_zero(const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  const int64_t words = p.layout.outputs * static_cast<int64_t>(sizeof(Acc) / sizeof(uint32_t));
  return start_zero<Acc>(static_cast<uint32_t*>(b.out), words, stream, dependent);
}

// Where CTAs leave the value of unit u of output o, o being the kept index where the kept dims are one.
template <class Acc>
Sink<Acc> make_sink(const Plan& plan, const Problem& p, const Buffers& b) {
  const Layout& l = p.layout;
  Sink<Acc> s{};
  static_cast<Target&>(s) = target_of(p, b);
  s.units = static_cast<uint32_t>(plan.units);
  s.atomic = plan.finish == Finish::Atomic;
  s.cluster = plan.finish == Finish::Cluster;
  s.results = plan.finish != Finish::Partials;
  if (s.results) {
    s.output_stride = l.kept_dims ? l.kept[0].out_stride : 0;
    return s;
  }
  static_cast<Target&>(s) = {b.scratch, s.count, p.compute, Ending::Own, 0, 0, nullptr, 0};
  s.unit_stride = plan.finish_kernel.few_outputs ? 1 : l.outputs;
  s.output_stride = plan.finish_kernel.few_outputs ? plan.finish_kernel.padded_units : 1;
  return s;
}

template <class O, class Acc>
cudaError_t launch_accumulator(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                               bool dependent) {
  const SourceOf<O> source = sources_of<O>(p, b);
  const Sink<Acc> sink = make_sink<Acc>(plan, p, b);
  const bool atomic = plan.finish == Finish::Atomic;
  const Launch l{plan.grid, plan.block, plan.shared_bytes,
                 stream,    dependent,  plan.finish == Finish::Cluster ? static_cast<int>(plan.units) : 1};
  cudaError_t status = atomic ? start_zero<Acc>(p, b, stream, dependent) : cudaSuccess;
  if (status != cudaSuccess) return status;
  struct {
    const Plan& plan;
    const Problem& p;
    const SourceOf<O>& source;
    const Sink<Acc>& sink;
    const Launch& l;
    cudaError_t operator()(std::monostate) const { return cudaSuccess; }
    cudaError_t operator()(const RowsPlan&) const { return start_rows<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const ShortRowsPlan&) const { return start_short_rows<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const CopiesPlan&) const { return start_copies<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const ColumnsPlan&) const { return start_columns<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const StackedPlan&) const { return start_stacked<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const TilesPlan&) const { return start_tiles_or_strips<O>(plan, p, source, sink, l); }
    cudaError_t operator()(const StripsPlan&) const { return start_tiles_or_strips<O>(plan, p, source, sink, l); }
  } start_kernel{plan, p, source, sink, l};
  status = std::visit(start_kernel, plan.kernel);
  if (status == cudaSuccess && plan.finish == Finish::Partials) {
    status = start_finish<O, Acc>(plan, p, b, stream, dependent);
  }
  return status;
}

template <class O, class Word>
cudaError_t launch_typed(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  if constexpr (!computes_in<O, Word>) {
    return cudaErrorInvalidValue;
  } else {
    return launch_accumulator<O, accumulator_of<O, Word>>(plan, p, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
