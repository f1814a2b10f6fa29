#include "core/cuda/finish/finish.cuh"
#include "core/cuda/map/norm_gradients.cuh"
#include "core/cuda/map/norm_gradients.h"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

template <class M, bool is_short>
auto kernel_of(DType in) {
  return in == DType::Float16    ? norm_gradients<M, Half, is_short>
         : in == DType::BFloat16 ? norm_gradients<M, BFloat16, is_short>
                                 : norm_gradients<M, float, is_short>;
}

}  // namespace

cudaError_t launch_norm_gradients(const NormGradientsPlan& plan, const MapProblem& p, const MapBuffers& b, void* sums,
                                  cudaStream_t stream, bool dependent) {
  const MapStrides rows = p.dims > 0 ? p.dim[0].stride : MapStrides{0, 0, 0};
  const NormGradientsArgs args{
      b.x,    b.second, b.weight,    b.read,   b.out,          b.scratch,      p.n,
      p.rows, rows.x,   rows.second, rows.out, plan.log_warps, plan.log_lanes, plan.log_leaves};
  const Launch l{plan.units, plan.block, plan.shared_bytes, stream, dependent, 1, -1, plan.most_shared_bytes};
  const cudaError_t status = with_map(p.map, [&](auto tag) {
    using M = typename decltype(tag)::type;
    if constexpr (M::parameters > 0) {
      return start(plan.is_short ? kernel_of<M, true>(p.in) : kernel_of<M, false>(p.in), args, l);
    }
    return cudaErrorInvalidValue;
  });
  if (status != cudaSuccess) return status;
  const FinishPlan& f = plan.finish;
  const FinishArgs<float, Access::Contiguous> of_sums{static_cast<const float*>(b.scratch),
                                                      Target{sums, {p.rows}, p.compute, Ending::Own, 0, 0, nullptr, 0},
                                                      plan.sums * p.n,
                                                      f.padded_units,
                                                      1,
                                                      static_cast<uint32_t>(plan.units),
                                                      f.log_across,
                                                      f.units_per_thread,
                                                      f.cluster,
                                                      KeptIndex<Access::Contiguous>(Layout{}, 0)};
  return start(finish_many<Sum, float, Access::Contiguous>, of_sums, Launch{f.grid, f.block, 0, stream, dependent});
}

}  // namespace torch_reduce::cuda
