#include "core/cuda/map/buffers.h"

namespace torch_reduce::cuda {

cudaError_t launch_map(const MapPlan& plan, const MapProblem& problem, const MapBuffers& buffers, cudaStream_t stream,
                       bool dependent_launch) {
  if (is_empty(problem)) return cudaSuccess;
  return with_map(problem.map, [&](auto tag) {
    return launch_map_of<typename decltype(tag)::type>(plan, problem, buffers, stream, dependent_launch);
  });
}

}  // namespace torch_reduce::cuda
