// The kernels of a map, MAP, which compile side by side with others'.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/map/launch.cuh"
// clang-format on

namespace torch_reduce::cuda {

template cudaError_t launch_map_of<MAP>(const MapPlan&, const MapProblem&, const MapBuffers&, cudaStream_t, bool);

}  // namespace torch_reduce::cuda
