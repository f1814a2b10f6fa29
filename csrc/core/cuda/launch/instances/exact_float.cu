#include "core/cuda/exact/launch.cuh"

template cudaError_t torch_reduce::cuda::launch_exact_typed<float>(const exact::ExactPlan&, const Problem&, bool,
                                                                   const Buffers&, cudaStream_t, bool);
