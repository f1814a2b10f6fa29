// The norms as torch has them: of a shape, by the operators of the last dims. On CUDA, autocast computes layer_norm in
// float32, and rms_norm where torch's release does, by torch's list.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <limits>
#include <numeric>
#include <sstream>

#include "../dispatch/call.h"
#include "../dispatch/composites.h"
#include "autocast.h"
#include "call.h"
#include "describe.h"

namespace torch_reduce {
namespace {

// How many dims a row has. Says what torch says.
int64_t check_shape(const at::Tensor& self, at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias) {
  const auto dims = static_cast<int64_t>(shape.size());
  TORCH_CHECK(dims >= 1,
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, ",
              "but got normalized_shape = ", shape);
  const auto check_parameter = [&](const char* which, const std::optional<at::Tensor>& t) {
    TORCH_CHECK(!t || !t->defined() || t->sym_sizes().equals(shape), "Expected ", which,
                " to be of same shape as normalized_shape, but got ", which, " of shape ", t->sym_sizes(),
                " and normalized_shape = ", shape);
  };
  check_parameter("weight", weight);
  check_parameter("bias", bias);
  const auto sizes = self.sym_sizes();
  if (self.dim() < dims || !sizes.slice(sizes.size() - shape.size()).equals(shape)) {
    std::stringstream sentence;
    sentence << "Given normalized_shape=" << shape << ", expected input with shape [*";
    for (const auto& size : shape) sentence << ", " << size;
    TORCH_CHECK(false, sentence.str(), "], but got input of size", sizes);
  }
  return dims;
}

struct RowsOver {
  int64_t dims;
  double eps;
};
RowsOver check_rms_norm(const at::Tensor& self, at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                        std::optional<double> eps) {
  const auto rank = static_cast<int64_t>(shape.size());
  TORCH_CHECK_VALUE(self.dim() >= rank, "Input tensor must have at least ", rank, " dimensions, but got ", self.dim());
  const int64_t dims = check_shape(self, shape, weight, std::nullopt);
  const double least = self.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                         : std::numeric_limits<float>::epsilon();
  return {dims, eps.value_or(least)};
}

at::Tensor rms_norm(const at::Tensor& self, at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                    std::optional<double> eps) {
  const RowsOver rows = check_rms_norm(self, shape, weight, eps);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_rms_norm", "").typed<RmsNorms>();
  // Releases of torch differ in that.
  static const bool is_listed = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("aten::rms_norm", "")
                                    .hasKernelForDispatchKey(c10::DispatchKey::AutocastCUDA);
  const Float32OfAutocast cast(self, is_listed);
  return std::get<0>(op.call(cast(self), rows.dims, cast(weight), rows.eps));
}

at::Tensor layer_norm(const at::Tensor& self, at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps) {
  const int64_t dims = check_shape(self, shape, weight, bias);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_layer_norm", "").typed<LayerNorms>();
  const Float32OfAutocast cast(self);
  return std::get<0>(op.call(cast(self), dims, cast(weight), cast(bias), eps));
}

// The sum is rounded before it is normalised: the result is that of rms_norm, and the sum that of torch.
std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& self, const at::Tensor& residual,
                                                at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                                                std::optional<double> eps) {
  const RowsOver rows = check_rms_norm(self, shape, weight, eps);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_add_rms_norm", "").typed<AddRmsNorms>();
  const auto [result, sum, row] = op.call(self, residual, rows.dims, weight, rows.eps);
  return {result, sum};
}

}  // namespace

namespace {

at::Tensor sum_over(const at::Tensor& x, int64_t first, int64_t end) {
  at::DimVector dims(static_cast<size_t>(end - first));
  std::iota(dims.begin(), dims.end(), first);
  return torch_reduce::call(
      Request{kAddition, at::IntArrayRef(dims), /*keepdim=*/false, compute_type_of_map(x.scalar_type())}, x);
}

}  // namespace

// A tensor that is a row itself is the only one.
at::Tensor sum_over_rows(const at::Tensor& x, int64_t dims) {
  return x.dim() == dims ? sum_over(x.unsqueeze(0), 0, 1) : sum_over(x, 0, x.dim() - dims);
}
at::Tensor sum_of_rows(const at::Tensor& x) { return sum_over(x, x.dim() - 1, x.dim()); }

namespace {

void register_norms(torch::Library& m) {
  m.impl("rms_norm", TORCH_FN(rms_norm));
  m.impl("layer_norm", TORCH_FN(layer_norm));
  m.impl("add_rms_norm", TORCH_FN(add_rms_norm));
}

}  // namespace

TORCH_REDUCE_COMPOSITES(register_norms)

}  // namespace torch_reduce
