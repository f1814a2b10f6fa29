// Autocast, by each operator's traits, which follow torch's own lists: on CUDA a sum or product of a lower precision
// gives float32 unless dtype says otherwise, and so does a scan that takes a dtype; on the CPU a product's input is
// cast to float32. Everything else falls through.
#include <ATen/autocast_mode.h>

#include "register.h"

namespace torch_reduce {
namespace {

struct OnCuda {
  static at::Tensor make(c10::DispatchKeySet, Request r, const at::Tensor& self) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCUDA);
    if (!r.dtype && at::autocast::is_eligible(self, at::kCUDA) && self.is_floating_point()) r.dtype = at::kFloat;
    return call(r, self);
  }
};

struct OnCpu {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCPU);
    return call(r, at::autocast::cached_cast(at::kFloat, self, at::kCPU));
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, AutocastCUDA, m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  if constexpr (Struct::widens_on_cuda) Entry<OnCuda, Op::Struct>::functional(m);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_SCAN(Struct, name, signature)                                      \
  if constexpr (Struct::widens_on_cuda && signature_of(Scan::name) == Signature::typed) \
    ScanEntry<OnCuda, Scan::name>::functional(m);
#include <torch_reduce/scans.def>
}

TORCH_LIBRARY_IMPL(reduce, AutocastCPU, m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  if constexpr (Struct::widens_on_cpu) Entry<OnCpu, Op::Struct>::functional(m);
#include <torch_reduce/operators.def>
}

}  // namespace torch_reduce
