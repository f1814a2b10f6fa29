// The scans of every instruction set (dispatch/kernels.h).
#pragma once

#include "core/cpu/job/threads.h"
#include "core/plan/cpu/scan.h"

namespace torch_reduce::cpu {

using RunScan = void(const Problem& p, const ScanPlan& plan, const void* in, void* out, const Threads& threads);
namespace baseline {
RunScan run_scan;
}
namespace avx2 {
RunScan run_scan;
}
namespace avx512 {
RunScan run_scan;
}

}  // namespace torch_reduce::cpu
