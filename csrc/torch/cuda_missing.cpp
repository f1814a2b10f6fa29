// Stands in for cuda.cpp in a build without CUDA.
#include "planning.h"
#include "register.h"

namespace torch_reduce {

Gpu describe_gpu(int) { return {}; }

namespace {

struct Missing {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor&) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "reduce::", name(r.op),
        ": this torch_reduce was built without CUDA; build it where nvcc and a torch with CUDA are found");
  }
  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    make(keys, r, self);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CUDA, m) { register_kernels<Missing>(m); }

}  // namespace torch_reduce
