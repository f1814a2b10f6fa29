// The steps of a loss that are a number or two a row.
#pragma once

#include "core/problem/loss_steps.h"

namespace torch_reduce::cpu {

// Null, or the first target that is no class, where it stops.
TR_SHARED const int64_t* loss_step(LossStep step, const MapProblem& problem, const LossBuffers<float>& buffers,
                                   const LossOptions& options);
TR_SHARED const int64_t* loss_step(LossStep step, const MapProblem& problem, const LossBuffers<double>& buffers,
                                   const LossOptions& options);

}  // namespace torch_reduce::cpu
