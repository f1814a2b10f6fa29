// The work that a call gets, under the constraint and the tuning that tests may set.
#pragma once

#include <c10/util/string_view.h>

#include "core/plan/cpu/work.h"
#include "core/plan/gpu/work.h"

namespace torch_reduce {

// What the device offers; a default description where it cannot be asked (a build without CUDA).
Gpu describe_gpu(int device);

// The same under the tuning in force; and the GPU that is planned for where none is at hand.
Gpu under_tuning(Gpu gpu);
const Gpu& typical_gpu();

// What tests allow all plans of the process; and what is allowed by the name of a family, by 16-byte loads or not (1,
// 0, or -1 for either) and by a split (0: any). ValueError for what there is not.
const Constraint& constraint_in_force();
Constraint constraint_of(c10::string_view family, int64_t vector, int64_t split);

// The core's make_work under a constraint and the tuning in force, with its refusals as RuntimeError.
Work work_for(const Problem& problem, const Gpu& gpu, bool words = false,
              const Constraint& constraint = constraint_in_force());
cpu::Work cpu_work_for(const Problem& problem, int threads, bool words = false);

}  // namespace torch_reduce
