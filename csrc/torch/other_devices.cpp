// Any other device or layout of tensor: one sentence in place of the dispatcher's page.
#include "register.h"

namespace torch_reduce {
namespace {

struct Other {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "reduce::", name(r.op), ": no kernel for a tensor of device ", self.device(),
                                " and layout ", self.layout(), "; accepted are strided tensors on CPU and CUDA");
  }
  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    make(keys, r, self);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { register_kernels<Other>(m); }

}  // namespace torch_reduce
