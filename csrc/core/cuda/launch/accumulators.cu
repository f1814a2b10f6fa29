// Tensors of superaccumulators: rounding and carrying, a warp each.
#include "core/cuda/exact/finish.cuh"
#include "core/cuda/launch/accumulators.h"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

constexpr int kThreads = 128;

struct FinishAllArgs {
  const int64_t* accumulators;
  int64_t count;
  ExactSink sink;
};
template <class F>
__global__ void __launch_bounds__(kThreads) finish_all(const __grid_constant__ FinishAllArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + warp_of_cta();
  if (i < a.count) finish_by_warp<F>(a.sink, a.sink.words ? i * F::kWords : i, a.accumulators + i * F::kWords);
}

cudaError_t start_finish(const int64_t* accumulators, int64_t count, int words, const ExactSink& sink,
                         cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  constexpr int kAtOnce = kThreads / kWarp;
  const auto kernel = words == exact::Double::kWords ? finish_all<exact::Double> : finish_all<exact::Single>;
  return start(kernel, FinishAllArgs{accumulators, count, sink},
               Launch{(count + kAtOnce - 1) / kAtOnce, kThreads, 0, stream, false});
}

}  // namespace

cudaError_t launch_exact_round(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type,
                               void* out, cudaStream_t stream) {
  ExactSink sink{};
  sink.out = out;
  sink.type = type;
  sink.divisor = divisor;
  return start_finish(accumulators, count, words, sink, stream);
}

cudaError_t launch_exact_normalize(const int64_t* accumulators, int64_t count, int words, int64_t* out,
                                   cudaStream_t stream) {
  ExactSink sink{};
  sink.out = out;
  sink.words = true;
  return start_finish(accumulators, count, words, sink, stream);
}

}  // namespace torch_reduce::cuda
