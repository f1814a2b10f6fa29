// batch_norm and its derivative on every device: checks, results, and how elements lie. Tensors have the shape (batch,
// channels, rest).
#pragma once

#include <torch/library.h>

#include "../schema/request.h"
#include "core/problem/channel_problem.h"
#include "describe.h"

namespace torch_reduce {

// As ChannelBuffers has them; undefined: not given.
struct ChannelTensors {
  at::Tensor x, second, mean, variance, weight, bias, sums, row, out;
};

// Device is as in kernels.h, and has
//   static void run(const ChannelProblem&, const ChannelTensors&);
template <class Device>
struct BatchNormKernels {
  using Optional = std::optional<at::Tensor>;

  // Whether the mean and the variance are the batch's own matters to the derivative alone.
  static std::tuple<at::Tensor, at::Tensor> norm(const at::Tensor& self, const at::Tensor& mean,
                                                 const at::Tensor& variance, const Optional& weight,
                                                 const Optional& bias, double eps, bool) {
    check(self, {mean, variance});
    const at::ScalarType words = compute_type_of_map(self.scalar_type());
    const at::Tensor row = Device::empty({3, self.sym_size(1)}, words, self);
    ChannelTensors t{
        self, {}, mean.contiguous(), variance.contiguous(), of_channels(weight, self), of_channels(bias, self),
        {},   row};
    run(ChannelMap::BatchNorm, t, eps, self.scalar_type());
    return {t.out, row.t().unsqueeze(0)};
  }

  static at::Tensor backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                             const Optional& sums, const Optional& weight) {
    check_gradient(grad, self);
    ChannelTensors t{grad,
                     self,
                     {},
                     {},
                     of_channels(weight, self),
                     {},
                     sums ? sums->contiguous() : at::Tensor(),
                     row.squeeze(0).t().contiguous()};
    run(ChannelMap::BatchNormBackward, t, 0, self.scalar_type());
    return t.out;
  }

  // Of the gradient and the normalised elements, in the compute type.
  static at::Tensor products(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row) {
    check_gradient(grad, self);
    ChannelTensors t{grad, self};
    t.row = row.squeeze(0).t().contiguous();
    run(ChannelMap::NormalProducts, t, 0, compute_type_of_map(self.scalar_type()));
    return t.out;
  }

  static void register_all(torch::Library& m) {
    m.impl("_batch_norm", TORCH_FN(norm));
    m.impl("_batch_norm_backward", TORCH_FN(backward));
    m.impl("_normal_products", TORCH_FN(products));
  }

 private:
  static void check_gradient(const at::Tensor& grad, const at::Tensor& self) {
    check(self, {});
    TORCH_CHECK(grad.scalar_type() == self.scalar_type() && grad.sym_sizes().equals(self.sym_sizes()) &&
                    grad.device() == self.device(),
                "reduce::batch_norm_backward: the gradient must have the dtype, the shape and the device of the input, "
                "got ",
                grad.scalar_type(), ", ", grad.sym_sizes(), " on ", grad.device());
  }
  static void check(const at::Tensor& self, std::initializer_list<at::Tensor> statistics) {
    check_map_dtype("batch_norm", self.scalar_type(), "the input");
    TORCH_CHECK(self.dim() == 3, "reduce::batch_norm: the input has the shape (batch, channels, rest), got ",
                self.sym_sizes());
    for (const at::Tensor& t : statistics) {
      TORCH_CHECK(t.sym_numel() == self.sym_size(1) && t.scalar_type() == compute_type_of_map(self.scalar_type()) &&
                      t.device() == self.device(),
                  "reduce::batch_norm: there is a mean and a variance of the compute type for each of ",
                  self.sym_size(1), " channels, on ", self.device(), ", got ", t.sym_sizes(), " of ", t.scalar_type(),
                  " on ", t.device());
    }
  }

  // Weight and bias in the compute type.
  static at::Tensor of_channels(const Optional& parameter, const at::Tensor& self) {
    if (!parameter || !parameter->defined()) return {};
    MapInputs in{self, {}, *parameter};
    make_parameters_alike("batch_norm", in);
    TORCH_CHECK(parameter->sym_numel() == self.sym_size(1),
                "reduce::batch_norm: weight and bias are of as many channels as there are, ", self.sym_size(1),
                ", got ", parameter->sym_sizes());
    return in.weight.to(compute_type_of_map(self.scalar_type()));
  }

  // Elements one after the other, as in the first tensor given: those of a channel, or one of each channel.
  static void run(ChannelMap map, ChannelTensors& t, double eps, at::ScalarType type) {
    const at::Tensor& like = t.second.defined() ? t.second : t.x;
    const bool channels_last = !like.is_contiguous() && like.transpose(1, 2).is_contiguous();
    const auto in_order = [&](const at::Tensor& x) { return channels_last ? x.transpose(1, 2) : x; };
    const at::Tensor out = Device::empty(in_order(like).sym_sizes(), type, like);
    t.out = in_order(out);
    if constexpr (Device::kMostDims > 0) {
      const DType in = to_dtype(like.scalar_type()), compute = to_dtype(compute_type_of_map(like.scalar_type()));
      const ChannelProblem p{map, in, compute, like.numel(), like.size(1), channels_last ? 1 : like.size(2), eps};
      ChannelTensors dense = t;
      dense.x = in_order(t.x).contiguous();
      if (t.second.defined()) dense.second = in_order(t.second).contiguous();
      dense.out = out;
      if (p.channels > 0) Device::run(p, dense);
    }
  }
};

}  // namespace torch_reduce
