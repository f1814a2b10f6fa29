#include "core/cuda/launch/exact.h"

namespace torch_reduce::cuda {

cudaError_t launch_exact(const exact::ExactPlan& plan, const Problem& p, bool words, const Buffers& b,
                         cudaStream_t stream, bool dependent) {
  if (plan.family == Family::Empty) return cudaSuccess;
  switch (p.in) {
    case DType::Float16:
      return launch_exact_typed<Half>(plan, p, words, b, stream, dependent);
    case DType::BFloat16:
      return launch_exact_typed<BFloat16>(plan, p, words, b, stream, dependent);
    case DType::Float32:
      return launch_exact_typed<float>(plan, p, words, b, stream, dependent);
    default:
      return launch_exact_typed<double>(plan, p, words, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
