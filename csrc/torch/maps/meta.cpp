// Maps of tensors without memory: shapes and types, symbolic sizes included.
#include <ATen/ops/empty.h>

#include "batch_norm.h"
#include "kernels.h"

namespace torch_reduce {
namespace {

struct Meta {
  static constexpr int kMostDims = 0;
  static at::Tensor empty(at::SymIntArrayRef sizes, at::ScalarType type, const at::Tensor& like) {
    return at::empty_symint(sizes, like.options().dtype(type));
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Meta, m) {
  MapKernels<Meta>::register_all(m);
  BatchNormKernels<Meta>::register_all(m);
}

}  // namespace torch_reduce
