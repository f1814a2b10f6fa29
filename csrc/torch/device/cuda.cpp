// CUDA: plan, scratch from the caching allocator, launch on the current stream. Nothing is kept between calls.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/sort.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <mutex>
#include <stdexcept>

#include "../planning/planning.h"
#include "core/cuda/launch/accumulators.h"
#include "core/cuda/launch/launch.h"
#include "core/cuda/select/select.h"
#include "exact.h"
#include "logits.h"
#include "selection.h"
#include "strided.h"
#include "two.h"

namespace torch_reduce {

Gpu describe_gpu(int device) {
  static std::once_flag asked[C10_COMPILE_TIME_MAX_GPUS];
  static Gpu known[C10_COMPILE_TIME_MAX_GPUS];
  std::call_once(asked[device], [device] {
    const c10::DeviceGuard guard(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
    C10_CUDA_CHECK(cuda::describe_current_gpu(device, known[device]));
  });
  return known[device];
}

namespace {

struct Cuda {
  static constexpr int kMostDims = kMaxKernelDims;
  // Not at::empty, which would go through the dispatcher a second time.
  static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& like) {
    const c10::DeviceGuard guard(like.device());
    return at::Tensor(at::detail::empty_generic(sizes, c10::cuda::CUDACachingAllocator::get(),
                                                c10::DispatchKeySet(c10::DispatchKey::CUDA), type, std::nullopt));
  }
  static void permit(const Request& r, const Checked& checked, const at::Tensor& self) {
    if (checked.mode != Mode::Atomic) return;
    if (is_floating(compute_type(r.op, to_dtype(self.scalar_type()), to_dtype(checked.type), r.correction))) {
      at::globalContext().alertNotDeterministic("reduce with mode=\"atomic\" on CUDA");
    }
  }
  static void run(const Request& r, const Checked& checked, const at::Tensor& self, const at::Tensor& out) {
    launch(make_problem(r, checked, self, out.strides()), self, out, /*words=*/false);
  }
  static void run(const Problem& p, const at::Tensor& self, const at::Tensor& other, const at::Tensor& counts,
                  const at::Tensor& out) {
    launch(p, self, out, /*words=*/false, other.const_data_ptr(), counts_in(counts));
  }
  static void run(const Problem& p, const at::Tensor& self, const at::Tensor& out) {
    launch(p, self, out, /*words=*/false);
  }
  static void run(const Selection& s, const at::Tensor& self, const at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    const SelectPlan plan = make_select_plan(s, describe_gpu(self.get_device()));
    const c10::DataPtr scratch = allocate(plan.scratch_bytes);
    C10_CUDA_CHECK(cuda::launch_selection(plan, s, {self.const_data_ptr(), out.mutable_data_ptr(), scratch.get()},
                                          c10::cuda::getCurrentCUDAStream(),
                                          cuda::has_dependent_launch(self.get_device())));
  }
  static void accumulate(const Problem& p, const at::Tensor& self, const at::Tensor& out) {
    launch(p, self, out, /*words=*/true);
  }
  static void launch(const Problem& p, const at::Tensor& self, const at::Tensor& out, bool words,
                     const void* other = nullptr, const int64_t* counts = nullptr) {
    const c10::DeviceGuard guard(self.device());
    const Gpu gpu = describe_gpu(self.get_device());
    const Work work = work_for(p, gpu, words);
    const c10::DataPtr scratch = allocate(work.scratch_bytes());
    C10_CUDA_CHECK(cuda::launch(work, {self.const_data_ptr(), out.mutable_data_ptr(), scratch.get(), other, counts},
                                c10::cuda::getCurrentCUDAStream(), cuda::has_dependent_launch(self.get_device())));
  }
  static c10::DataPtr allocate(int64_t bytes) {
    if (bytes == 0) return {};
    return c10::cuda::CUDACachingAllocator::get()->allocate(static_cast<size_t>(bytes));
  }
  static void round(const Accumulators& a, int64_t divisor, DType type, const at::Tensor& out) {
    const c10::DeviceGuard guard(out.device());
    C10_CUDA_CHECK(cuda::launch_exact_round(a.data, a.count, a.words, divisor, type, out.mutable_data_ptr(),
                                            c10::cuda::getCurrentCUDAStream()));
  }
  static void normalize(const Accumulators& a, const at::Tensor& out) {
    const c10::DeviceGuard guard(out.device());
    C10_CUDA_CHECK(cuda::launch_exact_normalize(a.data, a.count, a.words, out.mutable_data_ptr<int64_t>(),
                                                c10::cuda::getCurrentCUDAStream()));
  }
};

// More than the kernel selects, by a sort of the whole row, which has the same order.
at::Tensor select_or_sort(const at::Tensor& self, int64_t count, int64_t dim, bool largest) {
  dim = check_selection(self, count, dim);
  const int64_t n = self.dim() == 0 ? 1 : self.size(dim);
  if (can_select(n, count)) return select<Cuda>(self, count, dim, largest);
  return std::get<1>(at::sort(self, /*stable=*/true, dim, /*descending=*/largest)).narrow(dim, 0, count).contiguous();
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CUDA, m) {
  register_kernels<Strided<Cuda>>(m);
  register_exact<Cuda>(m);
  m.impl("_of_two", TORCH_FN(of_two<Cuda>));
  m.impl("_logits", TORCH_FN(logits<Cuda>));
  m.impl("_topk_indices", TORCH_FN(select_or_sort));
}

}  // namespace torch_reduce
