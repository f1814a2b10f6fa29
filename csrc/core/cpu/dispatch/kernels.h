// The kernels, built once per instruction set, each time into a namespace of its own: kernels.cpp is compiled with
// TR_CPU_NAMESPACE set to that name. Nothing that is inlined from elsewhere may have a copy of its own in such an
// object (it could replace the portable one at link time), so these sources use no std:: function.
#pragma once

#include "core/cpu/job/buffers.h"
#include "core/cpu/job/scratch.h"
#include "core/cpu/job/threads.h"
#include "core/plan/cpu/partner.h"
#include "core/plan/cpu/plan.h"

namespace torch_reduce::cpu {

// Whether there is the kernel that the plan names; else a planner is at fault. Kernels do not throw: they are compiled
// without exceptions, whose tables would be a thirtieth of the library.
using Run = bool(const Problem& problem, const CpuPlan& plan, const void* in, void* out, const Scratch& scratch,
                 const Threads& threads);
// The same of two tensors.
using RunPair = bool(const Problem& problem, const PartnerPlan& plan, const Buffers& buffers, const Threads& threads);

namespace baseline {
Run run;
RunPair run_pair;
}  // namespace baseline
namespace avx2 {
Run run;
RunPair run_pair;
}  // namespace avx2
namespace avx512 {
Run run;
RunPair run_pair;
}  // namespace avx512

}  // namespace torch_reduce::cpu
