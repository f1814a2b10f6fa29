// Meta: shapes and types only, symbolic sizes included.
#include <ATen/ops/empty.h>

#include "register.h"

namespace torch_reduce {
namespace {

struct Meta {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    const Checked checked = check(r, self);
    return at::empty_symint(result_sizes(self.sym_sizes(), checked.mask, r.keepdim),
                            self.options().dtype(checked.type));
  }

  static at::Tensor& into(c10::DispatchKeySet, const Request& r, const at::Tensor& self, at::Tensor& out) {
    const Checked checked = check(r, self, out.scalar_type());
    const auto sizes = result_sizes(self.sym_sizes(), checked.mask, r.keepdim);
    if (check_out(r, checked, self, sizes, out)) out.resize__symint(sizes);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Meta, m) { register_kernels<Meta>(m); }

}  // namespace torch_reduce
