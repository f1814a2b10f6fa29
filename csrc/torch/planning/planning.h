// The work that a call gets, under the constraint and the tuning that tests may set.
#pragma once

#include "core/plan/cpu/work.h"
#include "core/plan/gpu/work.h"

namespace torch_reduce {

// What the device offers; a default description where it cannot be asked (a build without CUDA).
Gpu describe_gpu(int device);

// The same under the tuning in force; and the GPU that is planned for where none is at hand.
Gpu under_tuning(Gpu gpu);
const Gpu& typical_gpu();

// The core's make_work under the process-wide constraint and tuning, with its refusals as RuntimeError.
Work work_for(const Problem& problem, const Gpu& gpu, bool words = false);
cpu::Work cpu_work_for(const Problem& problem, int threads, bool words = false);

}  // namespace torch_reduce
