#include "core/cuda/launch/launch.h"

namespace torch_reduce::cuda {
namespace {

template <class O>
cudaError_t launch_operator(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  switch (p.compute) {
    case DType::Float32:
      return launch_typed<O, float>(plan, p, b, stream, dependent);
    case DType::Float64:
      return launch_typed<O, double>(plan, p, b, stream, dependent);
    default:
      return launch_typed<O, int64_t>(plan, p, b, stream, dependent);
  }
}

}  // namespace

cudaError_t launch(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  if (plan.family == Family::Empty) return cudaSuccess;
  switch (p.op) {
    case Op::Sum:
    case Op::Mean:
      return launch_operator<Sum>(plan, p, b, stream, dependent);
    case Op::Prod:
      return launch_operator<Prod>(plan, p, b, stream, dependent);
    default:
      return launch_operator<Max>(plan, p, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
