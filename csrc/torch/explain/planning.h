// The plan that a call gets, under the constraint and the tuning that tests may set.
#pragma once

#include "core/plan/cpu/plan.h"
#include "core/plan/gpu/exact.h"
#include "core/plan/gpu/plan.h"

namespace torch_reduce {

// What the device offers; a default description where it cannot be asked (a build without CUDA).
Gpu describe_gpu(int device);

// The core's make_plan under the process-wide constraint and tuning, with its refusals as RuntimeError.
Plan plan_for(const Problem& problem, const Gpu& gpu);
cpu::CpuPlan cpu_plan_for(const Problem& problem, int threads);
exact::ExactPlan exact_plan_for(const Problem& problem, bool words, const Gpu& gpu);

}  // namespace torch_reduce
