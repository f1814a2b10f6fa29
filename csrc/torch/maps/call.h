// The maps through torch's dispatcher: the operators that have kernels, from the top.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace torch_reduce {

using Softmaxes = at::Tensor(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                             const std::optional<at::Tensor>& mask, double scale);
using SoftmaxGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& result, int64_t dim, at::ScalarType type,
                                   const std::optional<at::Tensor>& mask, double scale);
using RmsNorms = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& self, int64_t dims,
                                                    const std::optional<at::Tensor>& weight, double eps);
using AddRmsNorms = std::tuple<at::Tensor, at::Tensor, at::Tensor>(const at::Tensor& self, const at::Tensor& residual,
                                                                   int64_t dims,
                                                                   const std::optional<at::Tensor>& weight, double eps);
using LayerNorms = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& self, int64_t dims,
                                                      const std::optional<at::Tensor>& weight,
                                                      const std::optional<at::Tensor>& bias, double eps);
// Of a tensor of shape (batch, groups, row), whose weight and bias are of channels: as many neighbours of a row each.
using GroupNorms = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& self, const std::optional<at::Tensor>& weight,
                                                      const std::optional<at::Tensor>& bias, double eps);
using GroupNormGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                     const std::optional<at::Tensor>& weight);
// Of a tensor of shape (batch, channels, rest), by a mean and a variance of each channel.
using BatchNorms = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& self, const at::Tensor& mean,
                                                      const at::Tensor& variance,
                                                      const std::optional<at::Tensor>& weight,
                                                      const std::optional<at::Tensor>& bias, double eps, bool of_batch);
using BatchNormGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                     const std::optional<at::Tensor>& sums, const std::optional<at::Tensor>& weight);
using NormalProductsOf = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row);
using ChannelSumsOf = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                 int64_t channels);
using NormGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims,
                                const std::optional<at::Tensor>& weight);

// What is asked for of a loss is the dim of the classes, the target that does not count, and two factors (loss.h).
using Logits = at::Tensor(const at::Tensor& self, int64_t dim);
using CrossEntropies = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& self, const at::Tensor& target, int64_t dim,
                                                          int64_t ignore_index, double smoothing, double z);
using CrossEntropyGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                                        const at::Tensor& row, int64_t dim, int64_t ignore_index, double smoothing,
                                        double z);

at::Tensor softmax_gradient(bool logarithm, const at::Tensor& grad, const at::Tensor& result, int64_t dim,
                            at::ScalarType type, const std::optional<at::Tensor>& mask, double scale);
// Of the last `dims` dims. `row` is what the norm has written of each row.
at::Tensor norm_gradient(bool centred, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                         int64_t dims, const std::optional<at::Tensor>& weight);

at::Tensor group_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                               const std::optional<at::Tensor>& weight);
// `sums` are channel_sums() of the batch, where the statistics are its own.
at::Tensor batch_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                               const std::optional<at::Tensor>& sums, const std::optional<at::Tensor>& weight);
// Of the gradient and the elements as a batch_norm has normalised them, in the compute type.
at::Tensor normal_products(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row);
// Of each channel, in the compute type: the sums of the gradient and of its products with the normalised elements.
at::Tensor channel_sums(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t channels);

// Both of these for a tensor and for its weight, and, of a layer_norm, for its bias: in the compute type, one after the
// other along the first dim.
using NormGradients = std::tuple<at::Tensor, at::Tensor>(const at::Tensor& grad, const at::Tensor& self,
                                                         const at::Tensor& row, int64_t dims,
                                                         const std::optional<at::Tensor>& weight);
std::tuple<at::Tensor, at::Tensor> norm_gradients(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                                  int64_t dims, const std::optional<at::Tensor>& weight);

// In the compute type: the sum over the rows, which have so many dims; and of each row of the last dim.
at::Tensor sum_over_rows(const at::Tensor& x, int64_t dims);
at::Tensor sum_of_rows(const at::Tensor& x);

using NormWeightGradient = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                      int64_t dims);
// Over the rows, the sum of the products of the gradient and the normalised elements, in the compute type.
at::Tensor norm_weight_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims);

}  // namespace torch_reduce
