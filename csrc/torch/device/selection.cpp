#include "selection.h"

#include <ATen/WrapDimUtils.h>

namespace torch_reduce {

int64_t check_selection(const at::Tensor& self, const c10::SymInt& count, int64_t dim) {
  const at::ScalarType type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED((at::isFloatingType(type) && !at::isReducedFloatingType(type)) || type == at::kHalf ||
                                  type == at::kBFloat16 || at::isIntegralType(type, /*includeBool=*/true),
                              "reduce::topk: the dtype ", type,
                              " of the input is not supported; accepted are bool, integers, float16, bfloat16, float32 "
                              "and float64");
  dim = at::maybe_wrap_dim(dim, self.dim());
  const c10::SymInt n = self.dim() == 0 ? c10::SymInt(1) : self.sym_size(dim);
  TORCH_CHECK(count >= 0 && count <= n, "reduce::topk: k is 0 to the size of dim ", dim, ", which is ", n, ", got ",
              count);
  return dim;
}

Problem rows_of_selection(const at::Tensor& self, int64_t dim, const at::Tensor& out) {
  const Request r = scan_request(Scan::_cumargmax, dim, std::nullopt);
  return make_problem(r, check(r, self), self, out.strides());
}

}  // namespace torch_reduce
