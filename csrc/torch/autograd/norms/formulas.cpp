#include "formulas.h"

#include <ATen/ATen.h>

#include <numeric>

#include "../../dispatch/call.h"
#include "../../maps/call.h"
#include "../../maps/describe.h"

namespace torch_reduce {

using torch::autograd::variable_list;

at::Tensor Norm::over_row(Op op, const at::Tensor& x) const {
  at::DimVector dim(static_cast<size_t>(dims));
  std::iota(dim.begin(), dim.end(), x.dim() - dims);
  if (statistics == Statistics::OfBatch) dim = {0, 2};
  return call(Request{op, at::IntArrayRef(dim), /*keepdim=*/true, std::nullopt}, x);
}

at::Tensor Norm::beside(const at::Tensor& parameter, const at::Tensor& x) const {
  if (!has_channels() || !parameter.defined()) return parameter;
  const c10::SymInt groups = x.sym_size(1), each = channels / groups.max(1), size = x.sym_size(2) / each.max(1);
  return parameter.reshape_symint({groups, each, 1})
      .expand_symint({groups, each, size})
      .reshape_symint({groups, x.sym_size(2)});
}

at::Tensor Norm::over_rows(const at::Tensor& x) const {
  if (!has_channels()) return sum_over_rows(x, dims);
  const c10::SymInt size = x.sym_size(1) * x.sym_size(2) / std::max<int64_t>(channels, 1);
  const at::Tensor of_channels = x.reshape_symint({x.sym_size(0), channels, size});
  return sum_over_rows(sum_of_rows(of_channels), 1);
}

Normal normal_of(const Norm& norm, const at::Tensor& self, const at::Tensor& row) {
  at::Tensor x = self.to(row.scalar_type());
  const auto word = [&](int64_t i) {
    at::Tensor w = row.select(-1, i);
    for (int64_t d = 0; d < norm.dims; ++d) w = w.unsqueeze(-1);
    return w;
  };
  if (norm.centred) x = (x - word(0)) - word(1);
  const at::Tensor inverse = word(norm.centred ? 2 : 0);
  return {x * inverse, inverse};
}

Normal differentiable_normal_of(const Norm& norm, const at::Tensor& self, const at::Tensor& row) {
  if (norm.statistics == Statistics::Given) return normal_of(norm, self, row);
  at::Tensor x = self.to(compute_type_of_map(self.scalar_type()));
  if (norm.centred) x = x - norm.over_row(Op::Mean, x);
  const at::Tensor inverse = (norm.over_row(Op::Mean, x * x) + norm.eps).sqrt().reciprocal();
  return {x * inverse, inverse};
}

at::Tensor through_normal(const Norm& norm, const at::Tensor& h, const Normal& normal) {
  if (norm.statistics == Statistics::Given) return h * normal.inverse;
  const at::Tensor centred = norm.centred ? h - norm.over_row(Op::Mean, h) : h;
  return (centred - normal.x * norm.over_row(Op::Mean, h * normal.x)) * normal.inverse;
}

namespace {

// Of each channel over all samples: the sums of the gradient and of its products with the normalised elements. Where
// elements of a channel do not lie side by side, products are stored, and summed up like the gradient.
at::Tensor sums_of_channels(const Norm& norm, const at::Tensor& grad, const Kept& kept) {
  const at::Tensor& x = kept.self;
  const bool are_apart = x.sym_size(2) == 1 || x.sym_stride(2) != 1;
  if (norm.statistics == Statistics::OfRow || !are_apart) {
    return sum_over_rows(channel_sums(grad, x, kept.row, norm.channels), 2);
  }
  const auto sums_of = [](const at::Tensor& t) {
    return sum_over_rows(t.sym_size(2) == 1 ? t.select(2, 0) : sum_of_rows(t), 1);
  };
  return at::stack({sums_of(grad), sums_of(normal_products(grad, x, kept.row))}, 1);
}

// By the kernels.
variable_list gradients_of(const Norm& norm, const at::Tensor& grad, const Kept& kept, Wanted wanted) {
  variable_list gradients(3);
  const auto& [x, w, row, type, weight_type, bias_type] = kept;
  const std::optional<at::Tensor> weight = w.defined() ? std::optional(w) : std::nullopt;
  const bool of_parameters = wanted[1] || wanted[2];
  if (norm.has_channels()) {
    at::Tensor sums;
    if (of_parameters || norm.statistics == Statistics::OfBatch) {
      sums = sums_of_channels(norm, grad, kept);
      gradients = {at::Tensor(), sums.select(1, 1), sums.select(1, 0)};
    }
    if (wanted[0] && norm.statistics == Statistics::OfRow) {
      gradients[0] = group_norm_gradient(grad, x, row, weight);
    } else if (wanted[0]) {
      const bool of_batch = norm.statistics == Statistics::OfBatch;
      gradients[0] = batch_norm_gradient(grad, x, row, of_batch ? std::optional(sums) : std::nullopt, weight);
    }
  } else if (wanted[0] && of_parameters) {
    const auto [of_x, sums] = norm_gradients(grad, x, row, norm.dims, weight);
    gradients = {of_x, sums.select(0, 0), norm.centred ? sums.select(0, 1) : at::Tensor()};
  } else {
    if (wanted[0]) gradients[0] = norm_gradient(norm.centred, grad, x, row, norm.dims, weight);
    if (wanted[1]) gradients[1] = norm_weight_gradient(grad, x, row, norm.dims);
    if (wanted[2]) gradients[2] = norm.over_rows(grad);
  }
  return gradients;
}
// Of a gradient that is to be differentiated itself: by differentiable operators.
variable_list differentiable_gradients_of(const Norm& norm, const at::Tensor& grad, const Kept& kept, Wanted wanted) {
  variable_list gradients(3);
  const auto& [x, w, row, type, weight_type, bias_type] = kept;
  const at::Tensor g = grad.to(compute_type_of_map(type));
  const Normal normal = differentiable_normal_of(norm, x, row);
  if (wanted[0]) gradients[0] = through_normal(norm, w.defined() ? g * norm.beside(w, x) : g, normal).to(type);
  if (wanted[1]) gradients[1] = norm.over_rows(g * normal.x);
  if (wanted[2]) gradients[2] = norm.over_rows(g);
  return gradients;
}

}  // namespace

variable_list gradients_of(const Norm& norm, const at::Tensor& grad, const Kept& kept, Wanted wanted, bool again) {
  variable_list gradients(norm.centred ? 3 : 2);
  if (!grad.defined()) return gradients;
  const variable_list all =
      again ? differentiable_gradients_of(norm, grad, kept, wanted) : gradients_of(norm, grad, kept, wanted);
  const at::ScalarType types[] = {kept.type, kept.weight_type, kept.bias_type};
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (wanted[i]) gradients[i] = all[i].to(types[i]);
  }
  return gradients;
}

}  // namespace torch_reduce
