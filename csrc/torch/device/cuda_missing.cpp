// Stands in for cuda.cpp in a build without CUDA.
#include "../dispatch/register.h"
#include "../planning/planning.h"
#include "exact.h"
#include "two.h"

namespace torch_reduce {

Gpu describe_gpu(int) { return {}; }

namespace {

[[noreturn]] void refuse(const std::string& what) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, what, ": this torch_reduce was built without CUDA; build it where nvcc and a torch with CUDA are found");
}

struct Missing {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor&) {
    refuse(std::string("reduce::") + name(r));
  }
  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    make(keys, r, self);
    return out;
  }
};

at::Tensor of_two_missing(const at::Tensor&, const at::Tensor&, c10::string_view op, at::IntArrayRef, bool,
                          c10::string_view, c10::string_view, double) {
  refuse("reduce::" + std::string(op));
}

struct MissingExact {
  static at::Tensor empty(at::IntArrayRef, at::ScalarType, const at::Tensor&) { refuse("reduce"); }
  static void accumulate(const Problem&, const at::Tensor&, const at::Tensor&) { refuse("reduce"); }
  static void round(const Accumulators&, int64_t, DType, const at::Tensor&) { refuse("reduce"); }
  static void normalize(const Accumulators&, const at::Tensor&) { refuse("reduce"); }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CUDA, m) {
  register_kernels<Missing>(m);
  register_exact<MissingExact>(m);
  m.impl("_of_two", TORCH_FN(of_two_missing));
}

}  // namespace torch_reduce
