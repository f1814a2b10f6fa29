// Any other kind of tensor: one sentence in place of the dispatcher's page.
#include "register.h"

namespace torch_reduce {
namespace {

struct Other {
  static bool accepted(const at::Tensor& t) {
    return (t.is_cpu() || t.is_cuda()) && t.layout() == at::kStrided && !t.is_quantized() && !t.is_nested();
  }
  static void refuse(const Request& r, const char* which, const at::Tensor& t) {
    TORCH_CHECK_NOT_IMPLEMENTED(!t.is_nested(), "reduce::", name(r), ": no kernel for ", which,
                                " that is nested; reduce each of its unbind()");
    TORCH_CHECK_NOT_IMPLEMENTED(false, "reduce::", name(r), ": no kernel for ", which, " of device ", t.device(),
                                ", layout ", t.layout(), " and dtype ", t.scalar_type(),
                                "; accepted are strided tensors on CPU and CUDA, not quantised");
  }
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    refuse(r, "a tensor", self);
    return self;
  }
  static at::Tensor& into(c10::DispatchKeySet, const Request& r, const at::Tensor& self, at::Tensor& out) {
    accepted(self) ? refuse(r, "an out", out) : refuse(r, "a tensor", self);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { register_kernels<Other>(m); }
TORCH_LIBRARY_IMPL(reduce, NestedTensorCPU, m) { register_kernels<Other>(m); }
TORCH_LIBRARY_IMPL(reduce, NestedTensorCUDA, m) { register_kernels<Other>(m); }

}  // namespace torch_reduce
