// Norms of channels, dim 1 of a tensor: groups of them as rows, and the statistics of each.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <numeric>

#include "../dispatch/call.h"
#include "../dispatch/composites.h"
#include "autocast.h"
#include "call.h"
#include "describe.h"

namespace torch_reduce {
namespace {

// Says what torch says.
void check_has_channels(const at::Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", self.dim());
}
void check_group_norm(const at::Tensor& self, int64_t groups, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias) {
  check_has_channels(self);
  TORCH_CHECK(groups > 0, "Expected num groups to be greater than 0, got ", groups);
  const c10::SymInt channels = self.sym_size(1);
  TORCH_CHECK(channels % groups == 0, "Expected number of channels in input to be divisible by num_groups, ",
              "but got input of shape ", self.sym_sizes(), " and num_groups=", groups);
  TORCH_CHECK_VALUE(self.sym_numel() != groups, "Expected more than 1 value per channel when training, got input size ",
                    self.sym_sizes());
  const auto check_parameter = [&](const char* which, const std::optional<at::Tensor>& t) {
    TORCH_CHECK(!t || !t->defined() || (t->dim() == 1 && t->sym_numel() == channels), "Expected ", which,
                " to be a vector of size equal to the number of channels in input, but got ", which, " of shape ",
                t->sym_sizes(), " and input of shape ", self.sym_sizes());
  };
  check_parameter("weight", weight);
  check_parameter("bias", bias);
}

at::Tensor group_norm(const at::Tensor& self, int64_t groups, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps) {
  check_group_norm(self, groups, weight, bias);
  const auto sizes = self.sym_sizes();
  c10::SymInt row = sizes[1] / groups;
  for (const c10::SymInt& size : sizes.slice(2)) row *= size;
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_group_norm", "").typed<GroupNorms>();
  const Float32OfAutocast cast(self);
  const at::Tensor rows = cast(self).reshape_symint({sizes[0], groups, row});
  return std::get<0>(op.call(rows, cast(weight), cast(bias), eps)).view_symint(sizes);
}

// The mean and the variance, of all dims but that of the channels, with the digits of the compute type.
std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& self) {
  check_has_channels(self);
  check_map_dtype("batch_norm_stats", self.scalar_type(), "the input");
  at::DimVector others(static_cast<size_t>(self.dim()));
  std::iota(others.begin(), others.end(), 0);
  others.erase(others.begin() + 1);
  Request request = spread_request(kOfChannel, at::IntArrayRef(others), /*keepdim=*/false, /*correction=*/0);
  request.dtype = compute_type_of_map(self.scalar_type());
  const auto [variance, mean] = call_pair(request, self);
  return {mean, variance};
}

}  // namespace

namespace {

void register_norms(torch::Library& m) {
  m.impl("group_norm", TORCH_FN(group_norm));
  m.impl("batch_norm_stats", TORCH_FN(batch_norm_stats));
}

}  // namespace

TORCH_REDUCE_COMPOSITES(register_norms)

}  // namespace torch_reduce
