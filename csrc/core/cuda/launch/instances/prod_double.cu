#include "core/cuda/launch/launch.cuh"

template cudaError_t torch_reduce::cuda::launch_typed<torch_reduce::Prod, double>(const Plan&, const Problem&,
                                                                                  const Buffers&, cudaStream_t, bool);
