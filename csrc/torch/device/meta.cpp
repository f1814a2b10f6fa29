// Meta: shapes and types only, symbolic sizes included.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include "../dispatch/register.h"
#include "exact.h"
#include "logits.h"
#include "selection.h"
#include "two.h"

namespace torch_reduce {
namespace {

struct Meta {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    const Checked checked = check(r, self);
    const auto sizes = result_sizes(r, checked, self.sym_sizes());
    const auto options = self.options().dtype(checked.type);
    if (!is_pair(r.op)) return at::empty_symint(sizes, options);
    return at::empty_strided_symint(sizes, result_strides<c10::SymInt>(r, sizes), options);
  }

  static at::Tensor& into(c10::DispatchKeySet, const Request& r, const at::Tensor& self, at::Tensor& out) {
    const Checked checked = check(r, self, out.scalar_type());
    const auto sizes = result_sizes(r, checked, self.sym_sizes());
    if (check_out(r, checked, self, sizes, out)) out.resize__symint(sizes);
    return out;
  }
};

at::Tensor of_two_meta(const at::Tensor& self, const at::Tensor& other, c10::string_view op, at::IntArrayRef dim,
                       bool keepdim, c10::string_view dtype, c10::string_view mode, double correction) {
  const Request r = request_of_two(op, dim, keepdim, dtype, mode, correction);
  const Checked checked = check_two(r, self, other);
  return at::empty_symint(result_sizes(r, checked, self.sym_sizes()), self.options().dtype(checked.type));
}

at::Tensor logits_meta(const at::Tensor& self, int64_t dim) {
  const Request r = request_of_logits(self, dim);
  const Checked checked = check(r, self);
  auto sizes = result_sizes(r, checked, self.sym_sizes());
  sizes.push_back(2);
  return at::empty_symint(sizes, self.options().dtype(checked.type));
}

at::Tensor select_meta(const at::Tensor& self, c10::SymInt count, int64_t dim, bool) {
  dim = check_selection(self, count, dim);
  c10::SymDimVector sizes(self.sym_sizes());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = std::move(count);
  return at::empty_symint(sizes, self.options().dtype(at::kLong));
}

at::Tensor accumulate(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
  const AccumulateRequest r{self, dim, keepdim};
  return at::empty_symint(r.sizes(self.sym_sizes()), self.options().dtype(at::kLong));
}

at::Tensor round(const at::Tensor& acc, at::ScalarType dtype, c10::SymInt divisor) {
  check_accumulators("exact_round", acc);
  check_rounding(dtype, divisor);
  return at::empty_symint(acc.sym_sizes().slice(0, acc.dim() - 1), acc.options().dtype(dtype));
}

at::Tensor normalize(const at::Tensor& acc) {
  check_accumulators("exact_normalize", acc);
  return at::empty_symint(acc.sym_sizes(), acc.options());
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Meta, m) {
  register_kernels<Meta>(m);
  m.impl("_of_two", TORCH_FN(of_two_meta));
  m.impl("_logits", TORCH_FN(logits_meta));
  m.impl("_topk_indices", TORCH_FN(select_meta));
  m.impl("exact_accumulate", TORCH_FN(accumulate));
  m.impl("exact_round", TORCH_FN(round));
  m.impl("exact_normalize", TORCH_FN(normalize));
}

}  // namespace torch_reduce
