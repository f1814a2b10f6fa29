// The selections of every instruction set (dispatch/kernels.h).
#pragma once

#include "core/cpu/job/threads.h"
#include "core/problem/selection.h"

namespace torch_reduce::cpu {

using RunSelection = void(const Selection& selection, const void* in, int64_t* out, const Threads& threads);
namespace baseline {
RunSelection run_selection;
}
namespace avx2 {
RunSelection run_selection;
}
namespace avx512 {
RunSelection run_selection;
}

}  // namespace torch_reduce::cpu
