// Maps on a GPU: plan, scratch from the caching allocator, launch on the current stream.
#include <ATen/EmptyTensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "../planning/planning.h"
#include "batch_norm.h"
#include "core/cuda/launch/launch.h"
#include "core/cuda/map/buffers.h"
#include "core/cuda/map/channels.h"
#include "core/cuda/map/losses.h"
#include "core/cuda/map/norm_gradients.h"
#include "kernels.h"

namespace torch_reduce {
namespace {

const void* address(const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; }
void* address_to(const at::Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; }

struct Cuda {
  static constexpr int kMostDims = kMostMapDims;
  static at::Tensor empty(at::SymIntArrayRef sizes, at::ScalarType type, const at::Tensor& like) {
    const c10::DeviceGuard guard(like.device());
    return at::Tensor(at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(sizes), c10::cuda::CUDACachingAllocator::get(),
                                                c10::DispatchKeySet(c10::DispatchKey::CUDA), type, std::nullopt));
  }
  static void run(const MapProblem& p, const MapInputs& in, const MapOutputs& to) {
    const c10::DeviceGuard guard(in.x.device());
    const int device = in.x.get_device();
    const MapPlan plan = make_map_plan(p, under_tuning(describe_gpu(device)));
    const c10::DataPtr scratch = allocate(plan.scratch_bytes);
    C10_CUDA_CHECK(cuda::launch_map(plan, p, buffers(in, to, scratch), c10::cuda::getCurrentCUDAStream(),
                                    cuda::has_dependent_launch(device)));
  }
  static bool run_gradients(const MapProblem& p, const MapInputs& in, const MapOutputs& to, const at::Tensor& sums) {
    const c10::DeviceGuard guard(in.x.device());
    const int device = in.x.get_device();
    const auto plan = make_norm_gradients_plan(p, describe_gpu(device));
    if (!plan) return false;
    const c10::DataPtr scratch = allocate(plan->scratch_bytes);
    C10_CUDA_CHECK(cuda::launch_norm_gradients(*plan, p, buffers(in, to, scratch), address_to(sums),
                                               c10::cuda::getCurrentCUDAStream(), cuda::has_dependent_launch(device)));
    return true;
  }
  static void run(const Problem& p, const WeightInputs& in, const at::Tensor& out) {
    const c10::DeviceGuard guard(in.self.device());
    const Work work = work_for(p, describe_gpu(in.self.get_device()));
    const c10::DataPtr scratch = allocate(work.scratch_bytes());
    C10_CUDA_CHECK(cuda::launch(
        work, {address(in.grad), address_to(out), scratch.get(), address(in.self), nullptr, address(in.row)},
        c10::cuda::getCurrentCUDAStream(), cuda::has_dependent_launch(in.self.get_device())));
  }
  static void run(const ChannelProblem& p, const ChannelTensors& t) {
    const c10::DeviceGuard guard(t.x.device());
    const at::Tensor x = at_16_bytes(t.x), second = at_16_bytes(t.second);
    const ChannelBuffers buffers{address(x),          address(second),   address(t.mean),
                                 address(t.variance), address(t.weight), address(t.bias),
                                 address(t.sums),     address_to(t.row), address_to(t.out)};
    C10_CUDA_CHECK(cuda::launch_channel_map(make_channel_plan(p), p, buffers, c10::cuda::getCurrentCUDAStream(),
                                            cuda::has_dependent_launch(t.x.get_device())));
  }
  static void run(LossStep step, const LossCall& call, const LossInputs& in, const at::Tensor& out) {
    const c10::DeviceGuard guard(in.self.device());
    const bool dependent = cuda::has_dependent_launch(in.self.get_device());
    const auto launch = [&](auto buffers) {
      return cuda::launch_loss_step(step, call.rows, buffers, call.options, c10::cuda::getCurrentCUDAStream(),
                                    dependent);
    };
    C10_CUDA_CHECK(call.rows.compute == DType::Float64 ? launch(loss_buffers<double>(in, out))
                                                       : launch(loss_buffers<float>(in, out)));
  }

 private:
  static at::Tensor at_16_bytes(const at::Tensor& t) {
    return reinterpret_cast<uintptr_t>(address(t)) % 16 == 0 ? t : t.clone();
  }
  static c10::DataPtr allocate(int64_t bytes) {
    if (bytes == 0) return {};
    return c10::cuda::CUDACachingAllocator::get()->allocate(static_cast<size_t>(bytes));
  }
  static cuda::MapBuffers buffers(const MapInputs& in, const MapOutputs& to, const c10::DataPtr& scratch) {
    return {address(in.x),      address(in.second),     address(in.weight),
            address(in.bias),   address(in.row),        static_cast<const bool*>(address(in.mask)),
            address_to(to.out), address_to(to.written), address_to(to.sum),
            scratch.get()};
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CUDA, m) {
  MapKernels<Cuda>::register_all(m);
  BatchNormKernels<Cuda>::register_all(m);
}

}  // namespace torch_reduce
