// The scans by an operator in a compute type, OPERATOR and ACC, which compile side by side with others'.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/scan/launch.cuh"
// clang-format on

namespace torch_reduce::cuda {

template cudaError_t launch_scan_typed<OPERATOR, ACC>(const ScanPlan&, const Problem&, const Buffers&, cudaStream_t,
                                                      bool);

}  // namespace torch_reduce::cuda
