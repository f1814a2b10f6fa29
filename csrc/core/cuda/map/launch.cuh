// From a plan to the arguments of map.
#pragma once

#include "core/cuda/map/buffers.h"
#include "core/cuda/map/map.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

// A plan names no places that there are no kernels for.
template <class M, class In, class Word, Places places>
constexpr auto kernel_if_any() {
  return kernel_of_map<M, In, Word, have_map(map_types<M, Word>, places) ? places : Places::Any>();
}
template <class M, class In, class Word>
auto kernel_for(Places places) {
  switch (places) {
    case Places::Unaligned:
      return kernel_if_any<M, In, Word, Places::Unaligned>();
    case Places::Vectors:
      return kernel_if_any<M, In, Word, Places::Vectors>();
    case Places::ShortVectors:
      return kernel_if_any<M, In, Word, Places::ShortVectors>();
    case Places::OneVector:
      return kernel_if_any<M, In, Word, Places::OneVector>();
    default:
      return kernel_if_any<M, In, Word, Places::Any>();
  }
}

template <class M, class In, class Word>
cudaError_t start_map(const MapPlan& plan, const MapProblem& p, const MapBuffers& b, cudaStream_t stream,
                      bool dependent) {
  MapArgs<Word> args{b.x,
                     b.second,
                     b.weight,
                     b.bias,
                     b.read,
                     b.mask,
                     b.out,
                     b.written,
                     b.sum,
                     b.scratch,
                     p.parameters,
                     p.out,
                     p.n,
                     p.rows,
                     1 / static_cast<double>(p.n),
                     static_cast<Word>(p.epsilon),
                     static_cast<Word>(p.scale),
                     p.channel,
                     p.groups,
                     channels_of_row(p),
                     FastDivisor(p.n < int64_t{1} << 31 ? p.channel : 1),
                     p.along,
                     MapIndex(p),
                     plan.log_lanes,
                     plan.log_warps,
                     plan.warp_rows,
                     plan.warp_chunks,
                     plan.rows_per_cta,
                     plan.loads,
                     FastDivisor(plan.units),
                     plan.in_cluster ? Meets::Cluster : Meets::Alone,
                     plan.reads_vectors,
                     plan.writes_vectors,
                     plan.masks_vectors,
                     plan.fetches_parameters};
  const auto kernel = kernel_for<M, In, Word>(plan.places);
  const Launch l{plan.grid,
                 plan.block,
                 plan.shared_bytes,
                 stream,
                 dependent,
                 plan.in_cluster ? static_cast<int>(plan.units) : 1,
                 -1,
                 plan.most_shared_bytes};
  if (plan.launches == 1) return start(kernel, args, l);
  args.meets = Meets::LeavesPartials;
  const cudaError_t status = start(kernel, args, l);
  if (status != cudaSuccess) return status;
  args.meets = Meets::HasPartials;
  return start(kernel, args, l);
}

template <class M>
cudaError_t launch_map_of(const MapPlan& plan, const MapProblem& p, const MapBuffers& b, cudaStream_t stream,
                          bool dependent) {
  switch (p.in) {
    case DType::Float16:
      return start_map<M, Half, float>(plan, p, b, stream, dependent);
    case DType::BFloat16:
      return start_map<M, BFloat16, float>(plan, p, b, stream, dependent);
    case DType::Float32:
      return start_map<M, float, float>(plan, p, b, stream, dependent);
    default:
      return start_map<M, double, double>(plan, p, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
