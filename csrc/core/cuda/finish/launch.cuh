// From a plan to the arguments and the threads of the finish.
#pragma once

#include "core/cuda/finish/finish.cuh"
#include "core/cuda/start/start.cuh"
#include "core/cuda/start/target.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc, Access A>
cudaError_t start_finish_with(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                              bool dependent) {
  const Layout& l = p.layout;
  const FinishPlan& f = plan.finish_kernel;
  const FinishArgs<Acc, A> a{static_cast<const Acc*>(b.scratch),
                             target_of(p, b),
                             l.outputs,
                             f.padded_units,
                             l.kept_dims ? l.kept[0].out_stride : 0,
                             static_cast<uint32_t>(plan.units),
                             f.log_across,
                             f.units_per_thread,
                             f.cluster,
                             KeptIndex<A>(l, 0)};
  const int carveout = dependent ? f.carveout : -1;  // else no kernel begins beside it
  const Launch launch{f.grid, f.block, 0, stream, dependent, f.cluster, carveout};
  if (!f.few_outputs) return start(finish_many<O, Acc, A>, a, launch);
  return start(f.cluster > 1 ? finish_few<O, Acc, A, true> : finish_few<O, Acc, A, false>, a, launch);
}

template <class O, class Acc>
cudaError_t start_finish(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  return p.layout.kept_dims <= 1 ? start_finish_with<O, Acc, Access::Contiguous>(plan, p, b, stream, dependent)
                                 : start_finish_with<O, Acc, Access::Strided>(plan, p, b, stream, dependent);
}

}  // namespace torch_reduce::cuda
