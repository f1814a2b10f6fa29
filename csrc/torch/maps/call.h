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

using NormProductsOf = at::Tensor(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims);
// The products of the gradient and the normalised elements, in the compute type.
at::Tensor norm_products(bool centred, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                         int64_t dims);

}  // namespace torch_reduce
