// The exact kernels of every instruction set (dispatch/kernels.h).
#pragma once

#include "core/cpu/job/buffers.h"
#include "core/cpu/job/threads.h"
#include "core/plan/cpu/exact.h"

namespace torch_reduce::cpu {

using RunExactly = void(const Problem& problem, const ExactPlan& plan, const Buffers& buffers, const Threads& threads);
namespace baseline {
RunExactly run_exactly;
}
namespace avx2 {
RunExactly run_exactly;
}
namespace avx512 {
RunExactly run_exactly;
}

}  // namespace torch_reduce::cpu
