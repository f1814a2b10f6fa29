// The kernels of an operator and a compute type, OPERATOR and ACC, which compile side by side with others'.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/launch/launch.cuh"
// clang-format on

namespace torch_reduce::cuda {

template cudaError_t launch_typed<OPERATOR, ACC>(const Plan&, const Problem&, const Buffers&, cudaStream_t, bool);

}  // namespace torch_reduce::cuda
