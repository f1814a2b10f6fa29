// The formulas of the norms' derivatives.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <array>

#include "core/contract/ops.h"

namespace torch_reduce {

// Of what a norm takes the mean and the variance: of each row; of a channel's rows in all samples; or they are given.
enum class Statistics : uint8_t { OfRow, OfBatch, Given };

// What a derivative needs to know of the call.
struct Norm {
  bool centred;
  int64_t dims;
  double eps;
  int64_t channels = 0;  // of a tensor of shape (batch, groups, row), or (batch, channels, row)
  Statistics statistics = Statistics::OfRow;

  bool has_channels() const { return channels > 0 || statistics != Statistics::OfRow; }
  // A reduction of what the statistics are of, which keeps its dims.
  at::Tensor over_row(Op op, const at::Tensor& x) const;
  // A parameter as it stands beside the rows.
  at::Tensor beside(const at::Tensor& parameter, const at::Tensor& x) const;
  // The sum of what a parameter has, in the compute type, of elements as they are.
  at::Tensor over_rows(const at::Tensor& x) const;
};

// The normalised elements and one over what they were divided by.
struct Normal {
  at::Tensor x, inverse;
};
// By what the kernel has written of each row; its bits. That has no derivative.
Normal normal_of(const Norm& norm, const at::Tensor& self, const at::Tensor& row);
// By differentiable operators.
Normal differentiable_normal_of(const Norm& norm, const at::Tensor& self, const at::Tensor& row);

// The Jacobian of the normalised elements, which is symmetric: of a gradient or a tangent h.
at::Tensor through_normal(const Norm& norm, const at::Tensor& h, const Normal& normal);

// What a node has kept: the tensors, and the types of the gradients.
struct Kept {
  at::Tensor self, weight, row;
  at::ScalarType type, weight_type, bias_type;
};
using Wanted = std::array<bool, 3>;

// Of the tensor, the weight and, of a norm that is centred, the bias. `again`: the gradient is to be differentiated
// itself.
torch::autograd::variable_list gradients_of(const Norm& norm, const at::Tensor& grad, const Kept& kept, Wanted wanted,
                                            bool again);

}  // namespace torch_reduce
