#include <cassert>

#include "core/contract/integers.h"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/map/losses.h"
#include "core/cuda/map/places.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

constexpr int kThreads = 64;

template <class Word>
struct LossArgs {
  LossBuffers<Word> buffers;
  LossOptions options;
  int64_t rows;
  MapStrides along;
  MapIndex index;
};

template <LossStep step, class In, class Word>
__global__ void __launch_bounds__(kThreads) loss_step(const __grid_constant__ LossArgs<Word> a) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  wait_for_previous_kernel();
  allow_next_kernel_if_small();
  if (row >= a.rows) return;
  const bool is_class = do_loss_step<step, In>(a.buffers, a.options, row, a.index.at(row), a.along);
  if (!is_class) __assert_fail("a target is a class", "reduce::cross_entropy", __LINE__, __func__);
}

template <LossStep step, class Word>
cudaError_t start_loss_step(const MapProblem& p, const LossBuffers<Word>& b, const LossOptions& o, const Launch& l) {
  const LossArgs<Word> args{b, o, p.rows, p.along, MapIndex(p)};
  if constexpr (sizeof(Word) == 8) {
    return start(loss_step<step, double, Word>, args, l);
  } else {
    switch (p.in) {
      case DType::Float16:
        return start(loss_step<step, Half, Word>, args, l);
      case DType::BFloat16:
        return start(loss_step<step, BFloat16, Word>, args, l);
      default:
        return start(loss_step<step, float, Word>, args, l);
    }
  }
}

template <class Word>
cudaError_t launch_step(LossStep step, const MapProblem& p, const LossBuffers<Word>& b, const LossOptions& o,
                        cudaStream_t stream, bool dependent) {
  if (p.rows == 0) return cudaSuccess;
  const Launch l{ceil_div(p.rows, kThreads), kThreads, 0, stream, dependent};
  switch (step) {
    case LossStep::Losses:
      return start_loss_step<LossStep::Losses>(p, b, o, l);
    case LossStep::GradientRows:
      return start_loss_step<LossStep::GradientRows>(p, b, o, l);
    default:
      return start_loss_step<LossStep::TargetGradients>(p, b, o, l);
  }
}

}  // namespace

cudaError_t launch_loss_step(LossStep step, const MapProblem& p, const LossBuffers<float>& b, const LossOptions& o,
                             cudaStream_t stream, bool dependent) {
  return launch_step(step, p, b, o, stream, dependent);
}
cudaError_t launch_loss_step(LossStep step, const MapProblem& p, const LossBuffers<double>& b, const LossOptions& o,
                             cudaStream_t stream, bool dependent) {
  return launch_step(step, p, b, o, stream, dependent);
}

}  // namespace torch_reduce::cuda
