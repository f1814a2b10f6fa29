// The schemas of the maps, and calls of those that others call.
#include <torch/library.h>

#include "call.h"

namespace torch_reduce {
namespace {

template <class Function>
auto find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>();
}

}  // namespace

at::Tensor softmax_gradient(bool logarithm, const at::Tensor& grad, const at::Tensor& result, int64_t dim,
                            at::ScalarType type, const std::optional<at::Tensor>& mask, double scale) {
  static const auto shares = find<SoftmaxGradient>("reduce::_softmax_backward"),
                    logarithms = find<SoftmaxGradient>("reduce::_log_softmax_backward");
  return (logarithm ? logarithms : shares).call(grad, result, dim, type, mask, scale);
}

at::Tensor norm_gradient(bool centred, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                         int64_t dims, const std::optional<at::Tensor>& weight) {
  static const auto rms = find<NormGradient>("reduce::_rms_norm_backward"),
                    layer = find<NormGradient>("reduce::_layer_norm_backward");
  return (centred ? layer : rms).call(grad, self, row, dims, weight);
}

at::Tensor group_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                               const std::optional<at::Tensor>& weight) {
  static const auto op = find<GroupNormGradient>("reduce::_group_norm_backward");
  return op.call(grad, self, row, weight);
}

at::Tensor batch_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                               const std::optional<at::Tensor>& sums, const std::optional<at::Tensor>& weight) {
  static const auto op = find<BatchNormGradient>("reduce::_batch_norm_backward");
  return op.call(grad, self, row, sums, weight);
}

at::Tensor normal_products(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row) {
  static const auto op = find<NormalProductsOf>("reduce::_normal_products");
  return op.call(grad, self, row);
}

at::Tensor channel_sums(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t channels) {
  static const auto op = find<ChannelSumsOf>("reduce::_channel_sums");
  return op.call(grad, self, row, channels);
}

std::tuple<at::Tensor, at::Tensor> norm_gradients(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                                  int64_t dims, const std::optional<at::Tensor>& weight) {
  static const auto op = find<NormGradients>("reduce::_norm_gradients");
  return op.call(grad, self, row, dims, weight);
}

at::Tensor norm_weight_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims) {
  static const auto op = find<NormWeightGradient>("reduce::_norm_weight_backward");
  return op.call(grad, self, row, dims);
}

}  // namespace torch_reduce

TORCH_LIBRARY_FRAGMENT(reduce, m) {
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  for (const std::string name : {"softmax", "log_softmax"}) {
    const std::string options = "Tensor? mask=None, float scale=1.) -> Tensor";
    m.def((name + "(Tensor self, int dim, ScalarType? dtype=None, " + options).c_str(), tags);
    m.def(("_" + name + "_backward(Tensor grad, Tensor result, int dim, ScalarType dtype, " + options).c_str(), tags);
  }
  // Of rows of logits: what is kept of each, and of that and two numbers (csrc/core/contract/maps/softmax.h) a
  // gradient; the losses, and what is kept; and their gradient.
  m.def("_logits(Tensor self, int dim) -> Tensor", tags);
  m.def("_logits_backward(Tensor self, Tensor row, int dim) -> Tensor", tags);
  m.def(
      "_cross_entropy(Tensor self, Tensor target, int dim, int ignore_index, float label_smoothing, float z_loss) -> "
      "(Tensor, Tensor)",
      tags);
  m.def(
      "_cross_entropy_backward(Tensor grad, Tensor self, Tensor target, Tensor row, int dim, int ignore_index, "
      "float label_smoothing, float z_loss) -> Tensor",
      tags);
  m.def(
      "cross_entropy(Tensor self, Tensor target, *, int ignore_index=-100, float label_smoothing=0., "
      "str reduction=\"mean\", float z_loss=0., ScalarType? dtype=None) -> Tensor",
      tags);
  m.def("logprobs(Tensor self, Tensor target, *, ScalarType? dtype=None, int? ignore_index=None) -> Tensor", tags);
  m.def("rms_norm(Tensor self, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", tags);
  m.def(
      "add_rms_norm(Tensor self, Tensor residual, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
      "(Tensor, Tensor)",
      tags);
  m.def(
      "layer_norm(Tensor self, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> "
      "Tensor",
      tags);
  m.def("group_norm(Tensor self, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
        tags);
  m.def("batch_norm_stats(Tensor self) -> (Tensor mean, Tensor variance)", tags);
  // Of the last `dims` dims: the result, the sum, and of each row what the derivative reads.
  m.def("_rms_norm(Tensor self, int dims, Tensor? weight, float eps) -> (Tensor, Tensor)", tags);
  m.def("_add_rms_norm(Tensor self, Tensor residual, int dims, Tensor? weight, float eps) -> (Tensor, Tensor, Tensor)",
        tags);
  m.def("_layer_norm(Tensor self, int dims, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor)", tags);
  // Of tensors of shape (batch, groups, row); the sums of shape (batch, channels, 2).
  m.def("_group_norm(Tensor self, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor)", tags);
  m.def("_group_norm_backward(Tensor grad, Tensor self, Tensor row, Tensor? weight) -> Tensor", tags);
  m.def("_channel_sums(Tensor grad, Tensor self, Tensor row, int channels) -> Tensor", tags);
  // Of (batch, channels, rest); the mean and the variance are of each channel. Whether they are the batch's own matters
  // to the derivative alone, which has no sums where they are not.
  m.def(
      "_batch_norm(Tensor self, Tensor mean, Tensor variance, Tensor? weight, Tensor? bias, float eps, bool of_batch) "
      "-> (Tensor, Tensor)",
      tags);
  m.def("_normal_products(Tensor grad, Tensor self, Tensor row) -> Tensor", tags);
  m.def("_batch_norm_backward(Tensor grad, Tensor self, Tensor row, Tensor? sums, Tensor? weight) -> Tensor", tags);
  m.def("_norm_gradients(Tensor grad, Tensor self, Tensor row, int dims, Tensor? weight) -> (Tensor, Tensor)", tags);
  m.def("_norm_weight_backward(Tensor grad, Tensor self, Tensor row, int dims) -> Tensor", tags);
  for (const std::string name : {"_rms_norm", "_layer_norm"}) {
    m.def((name + "_backward(Tensor grad, Tensor self, Tensor row, int dims, Tensor? weight) -> Tensor").c_str(), tags);
  }
}
