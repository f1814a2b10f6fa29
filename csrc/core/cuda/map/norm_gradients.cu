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

// The trees over the units, of every sum.
template <class O>
cudaError_t finish(const NormGradientsPlan& plan, const MapProblem& p, const void* partials, void* sums,
                   cudaStream_t stream, bool dependent) {
  const FinishPlan& f = plan.finish;
  const FinishArgs<float, Access::Contiguous> args{static_cast<const float*>(partials),
                                                   Target{sums, {p.rows}, p.compute, Ending::Own, 0, 0, nullptr, 0},
                                                   plan.sums * p.n,
                                                   f.padded_units,
                                                   1,
                                                   static_cast<uint32_t>(plan.units),
                                                   f.log_across,
                                                   f.units_per_thread,
                                                   f.cluster,
                                                   KeptIndex<Access::Contiguous>(Layout{}, 0)};
  return start(finish_many<O, float, Access::Contiguous>, args, Launch{f.grid, f.block, 0, stream, dependent});
}

}  // namespace

cudaError_t launch_norm_gradients(const NormGradientsPlan& plan, const MapProblem& p, const MapBuffers& b, void* sums,
                                  cudaStream_t stream, bool dependent) {
  const MapStrides rows = p.dims > 0 ? p.dim[0].stride : MapStrides{0, 0, 0};
  const NormGradientsArgs args{
      b.x,    b.second, b.weight,    b.read,   b.out,          b.scratch,      p.n,
      p.rows, rows.x,   rows.second, rows.out, plan.log_warps, plan.log_lanes, plan.log_leaves};
  const Launch l{plan.units, plan.block, plan.shared_bytes, stream, dependent, 1, -1, plan.most_shared_bytes};
  return with_map(p.map, [&](auto tag) {
    using M = typename decltype(tag)::type;
    cudaError_t status = cudaErrorInvalidValue;
    if constexpr (M::parameters > 0) {
      status = start(plan.is_short ? kernel_of<M, true>(p.in) : kernel_of<M, false>(p.in), args, l);
      if (status == cudaSuccess) status = finish<typename M::Reduces>(plan, p, b.scratch, sums, stream, dependent);
    }
    return status;
  });
}

}  // namespace torch_reduce::cuda
