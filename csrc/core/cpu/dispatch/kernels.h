// The kernels, built once per instruction set, each time into a namespace of its own: kernels.cpp is compiled with
// TR_CPU_NAMESPACE set to that name. Nothing that is inlined from elsewhere may have a copy of its own in such an
// object (it could replace the portable one at link time), so these sources use no std:: function.
#pragma once

#include "core/cpu/job/threads.h"
#include "core/plan/cpu/plan.h"

namespace torch_reduce::cpu {

// Throws std::logic_error: the plan names a kernel that the operator does not have, which is a planner's fault.
[[noreturn]] void refuse(const Problem& problem, const CpuPlan& plan);

using Run = void(const Problem& problem, const CpuPlan& plan, const void* in, void* out, const Threads& threads);

namespace baseline {
Run run;
}
namespace avx2 {
Run run;
}
namespace avx512 {
Run run;
}

}  // namespace torch_reduce::cpu
