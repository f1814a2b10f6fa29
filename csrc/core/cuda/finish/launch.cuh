// From a plan to the arguments and the threads of the finish.
#pragma once

#include <algorithm>

#include "core/cuda/finish/finish.cuh"
#include "core/cuda/start/buffers.h"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {

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
                       mirror_of_result(p),
                       0,
                       1,
                       plan.finish_ctas,
                       KeptIndex<A>(l, 0)};
  int64_t threads = kWarp;
  if (plan.few_outputs) {
    const int64_t ctas = plan.finish_ctas, units = (plan.units + ctas - 1) / ctas;
    while (threads < tuning::kFinishThreads && threads * kFinishSideBySide<Acc> < units) threads *= 2;
    a.units_per_thread = kFinishSideBySide<Acc>;
    while (threads * a.units_per_thread < units) a.units_per_thread *= 2;
    auto* kernel = ctas > 1 ? finish_few<O, Acc, A, true> : finish_few<O, Acc, A, false>;
    return start(kernel, a, Launch{outputs * ctas, static_cast<int>(threads), 0, stream, dependent, plan.finish_ctas});
  }
  while (a.log_across < 5 && (int64_t{1} << a.log_across) < outputs) ++a.log_across;
  int64_t along = 1;
  while (along * kFinishAtOnce < plan.units && (along << a.log_across) < tuning::kFinishThreads) along *= 2;
  while (along * a.units_per_thread < plan.units) a.units_per_thread *= 2;
  threads = std::max<int64_t>(along << a.log_across, kWarp);
  const int64_t grid = (outputs + (int64_t{1} << a.log_across) - 1) >> a.log_across;
  const int carveout = dependent ? plan.carveout : -1;  // else no kernel begins beside it
  return start(finish_many<O, Acc, A>, a, Launch{grid, static_cast<int>(threads), 0, stream, dependent, 1, carveout});
}

template <class O, class Acc>
cudaError_t start_finish(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  return p.layout.kept_dims <= 1 ? start_finish_with<O, Acc, Access::Contiguous>(plan, p, b, stream, dependent)
                                 : start_finish_with<O, Acc, Access::Strided>(plan, p, b, stream, dependent);
}

}  // namespace torch_reduce::cuda
