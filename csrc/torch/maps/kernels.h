// What every device shares: checks, results, and the problem that the device then works on.
#pragma once

#include <ATen/WrapDimUtils.h>
#include <torch/library.h>

#include <cmath>

#include "../dispatch/call.h"
#include "call.h"
#include "describe.h"
#include "losses.h"

namespace torch_reduce {

// Device has
//   static constexpr int kMostDims;  // of rows; 0: there is no memory, and nothing is run
//   static at::Tensor empty(at::SymIntArrayRef sizes, at::ScalarType type, const at::Tensor& like);
//   static void run(const MapProblem&, const MapInputs&, const MapOutputs&);
//   static void run(LossStep, const LossCall&, const LossInputs&, const at::Tensor& out);
//   static void run(const Problem&, const WeightInputs&, const at::Tensor& out);
//   // Returns whether it can.
//   static bool run_gradients(const MapProblem&, const MapInputs&, const MapOutputs&, const at::Tensor& sums);
template <class Device>
struct MapKernels {
  using Pair = std::tuple<at::Tensor, at::Tensor>;
  using Mask = std::optional<at::Tensor>;

  template <Map map>
  static at::Tensor softmax(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype, const Mask& mask,
                            double scale) {
    const int64_t d = at::maybe_wrap_dim(dim, self.dim());
    const at::ScalarType type = dtype.value_or(self.scalar_type());
    check_map_dtype(name(map), type, dtype ? "the result" : "the input");
    // An integer is converted first; what is rounded by that, torch rounds too.
    const bool widens = type == at::kDouble || !self.is_floating_point();
    MapInputs in{widens ? self.to(type) : self};
    check_map_dtype(name(map), in.x.scalar_type(), "the input");
    return scaled(map, in, d, type, mask, scale);
  }

  template <Map map>
  static at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& result, int64_t dim, at::ScalarType type,
                                     const Mask& mask, double scale) {
    const int64_t d = at::maybe_wrap_dim(dim, result.dim());
    check_pair(name(map), "the gradient", grad, result);
    MapInputs in{grad, result};
    return scaled(map, in, d, type, mask, scale);
  }

  static Pair rms_norm(const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight, double eps) {
    MapInputs in{self, {}, weight.value_or(at::Tensor())};
    return pair_of(norm(Map::RmsNorm, in, dims, eps));
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& self, const at::Tensor& residual,
                                                                     int64_t dims,
                                                                     const std::optional<at::Tensor>& weight,
                                                                     double eps) {
    check_pair(name(Map::AddRmsNorm), "the residual", residual, self);
    MapInputs in{self, residual, weight.value_or(at::Tensor())};
    const MapOutputs to = norm(Map::AddRmsNorm, in, dims, eps);
    return {to.out, to.sum, to.written};
  }
  static Pair layer_norm(const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight,
                         const std::optional<at::Tensor>& bias, double eps) {
    MapInputs in{self, {}, weight.value_or(at::Tensor()), bias.value_or(at::Tensor())};
    return pair_of(norm(Map::LayerNorm, in, dims, eps));
  }

  static Pair group_norm(const at::Tensor& self, const std::optional<at::Tensor>& weight,
                         const std::optional<at::Tensor>& bias, double eps) {
    MapInputs in{self, {}, weight.value_or(at::Tensor()), bias.value_or(at::Tensor())};
    return pair_of(norm(Map::GroupNorm, in, 1, eps));
  }
  static at::Tensor group_norm_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                        const std::optional<at::Tensor>& weight) {
    return norm_backward<Map::GroupNormBackward>(grad, self, row, 1, weight);
  }
  static at::Tensor channel_sums(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                 int64_t channels) {
    constexpr Map map = Map::ChannelSums;
    check_pair(name(map), "the gradient", grad, self);
    TORCH_CHECK(self.dim() == 3 && channels >= 0, "reduce::", name(map),
                ": the input has the shape (batch, groups, row), and channels, got ", self.sym_sizes());
    const c10::SymInt batch = self.sym_size(0), groups = self.sym_size(1), each = channels / groups.max(1);
    const auto of_channels = [&](const at::Tensor& t) {
      return t.reshape_symint({batch, channels, self.sym_size(2) / each.max(1)});
    };
    const at::Tensor rows = row.unsqueeze(2).expand_symint({batch, groups, each, row.sym_size(2)});
    MapInputs in{of_channels(grad), of_channels(self), {}, {}, rows.contiguous()};
    const at::Tensor sums = run(map, in, {2, 3}, {}, self.scalar_type()).written;
    return in.x.sym_size(2) == 0 ? sums.zero_() : sums;
  }

  static at::Tensor logits_backward(const at::Tensor& self, const at::Tensor& row, int64_t dim) {
    const int64_t d = at::maybe_wrap_dim(dim, self.dim());
    MapInputs in{self, {}, {}, {}, row.contiguous()};
    return run(Map::CrossEntropyBackward, in, {d, d + 1}, {}, self.scalar_type()).out;
  }

  static Pair cross_entropy(const at::Tensor& self, const at::Tensor& target, int64_t dim, int64_t ignore_index,
                            double smoothing, double z) {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_logits", "").typed<Logits>();
    const at::ScalarType compute = compute_type_of_map(self.scalar_type());
    LossInputs in{self, target, op.call(self, dim), {}, {}, {}};
    if (smoothing != 0) in.mean = call(Request{kOfSmoothing, at::IntArrayRef(dim), false, compute}, self);
    const at::Tensor losses = Device::empty(target.sym_sizes(), compute, self);
    if constexpr (Device::kMostDims > 0) {
      const LossCall loss(in, dim, ignore_index, smoothing, z, {}, Device::kMostDims);
      Device::run(LossStep::Losses, loss, in, losses);
    }
    return {losses, in.row};
  }

  // The shares of all classes first, and then of each row its target's.
  static at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                                           const at::Tensor& row, int64_t dim, int64_t ignore_index, double smoothing,
                                           double z) {
    LossInputs in{self, target, row.contiguous(), {}, {}, grad.contiguous()};
    c10::SymDimVector words(row.sym_sizes().begin(), row.sym_sizes().end());
    words.back() = traits_of(Map::CrossEntropyBackward).words_read;
    const at::Tensor rows = Device::empty(words, row.scalar_type(), self);
    if constexpr (Device::kMostDims == 0) return Device::empty(self.sym_sizes(), self.scalar_type(), self);
    if constexpr (Device::kMostDims > 0) {
      const LossCall of_rows(in, dim, ignore_index, smoothing, z, {}, Device::kMostDims);
      Device::run(LossStep::GradientRows, of_rows, in, rows);
      const at::Tensor result = logits_backward(self, rows, dim);
      const LossCall of_targets(in, dim, ignore_index, smoothing, z, result, Device::kMostDims);
      in.gradient_row = rows;
      Device::run(LossStep::TargetGradients, of_targets, in, result);
      return result;
    }
  }

  template <Map map>
  static at::Tensor norm_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims,
                                  const std::optional<at::Tensor>& weight) {
    check_pair(name(map), "the gradient", grad, self);
    MapInputs in{grad, self, weight.value_or(at::Tensor()), {}, row.contiguous()};
    make_parameters_alike(name(map), in);
    return run(map, in, {self.dim() - dims, self.dim()}, of_channels(map, in, {}), self.scalar_type()).out;
  }

  static Pair norm_gradients(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims,
                             const std::optional<at::Tensor>& weight) {
    const bool is_centred = row.sym_size(-1) == traits_of(Map::LayerNormBackward).words_read;
    const Map map = is_centred ? Map::LayerNormBackward : Map::RmsNormBackward;
    check_pair(name(map), "the gradient", grad, self);
    const at::ScalarType type = compute_type_of_map(self.scalar_type());
    c10::SymDimVector sizes{is_centred ? 2 : 1};
    for (int64_t d = self.dim() - dims; d < self.dim(); ++d) sizes.push_back(self.sym_size(d));
    const at::Tensor sums = Device::empty(sizes, type, self);
    if constexpr (Device::kMostDims == 0) return {Device::empty(self.sym_sizes(), self.scalar_type(), self), sums};
    if constexpr (Device::kMostDims > 0) {
      MapInputs in{grad, self, weight.value_or(at::Tensor()), {}, row.contiguous()};
      make_parameters_alike(name(map), in);
      const MapOutputs to{Device::empty(self.sym_sizes(), self.scalar_type(), self)};
      const MapProblem p = describe_map(map, in, {self.dim() - dims, self.dim()}, {}, to, Device::kMostDims);
      if (is_empty(p) || !Device::run_gradients(p, in, to, sums)) {
        if (!is_empty(p)) Device::run(p, in, to);
        sums.select(0, 0).copy_(norm_weight_backward(grad, self, row, dims));
        if (is_centred) sums.select(0, 1).copy_(sum_over_rows(grad, dims));
      }
      return {to.out, sums};
    }
  }

  static at::Tensor norm_weight_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row,
                                         int64_t dims) {
    check_pair("norm_weight_backward", "the gradient", grad, self);
    const at::ScalarType type = compute_type_of_map(self.scalar_type());
    const at::Tensor sums = Device::empty(self.sym_sizes().slice(static_cast<size_t>(self.dim() - dims)), type, self);
    if constexpr (Device::kMostDims > 0) {
      const bool are_few = self.dim() <= Device::kMostDims;  // the dims of what lies without gaps are few
      const WeightInputs in{are_few ? grad : grad.contiguous(), are_few ? self : self.contiguous(), row.contiguous()};
      const Problem p = describe_weight_gradient(in, dims, sums);
      if (!is_empty(p)) Device::run(p, in, sums);
    }
    return sums;
  }

  static void register_all(torch::Library& m) {
    m.impl("softmax", &MapKernels::template softmax<Map::Softmax>);
    m.impl("log_softmax", &MapKernels::template softmax<Map::LogSoftmax>);
    m.impl("_softmax_backward", &MapKernels::template softmax_backward<Map::SoftmaxBackward>);
    m.impl("_log_softmax_backward", &MapKernels::template softmax_backward<Map::LogSoftmaxBackward>);
    m.impl("_logits_backward", TORCH_FN(logits_backward));
    m.impl("_cross_entropy", TORCH_FN(cross_entropy));
    m.impl("_cross_entropy_backward", TORCH_FN(cross_entropy_backward));
    m.impl("_rms_norm", TORCH_FN(rms_norm));
    m.impl("_add_rms_norm", TORCH_FN(add_rms_norm));
    m.impl("_layer_norm", TORCH_FN(layer_norm));
    m.impl("_rms_norm_backward", &MapKernels::template norm_backward<Map::RmsNormBackward>);
    m.impl("_norm_weight_backward", TORCH_FN(norm_weight_backward));
    m.impl("_norm_gradients", TORCH_FN(norm_gradients));
    m.impl("_group_norm", TORCH_FN(group_norm));
    m.impl("_group_norm_backward", TORCH_FN(group_norm_backward));
    m.impl("_channel_sums", TORCH_FN(channel_sums));
    m.impl("_layer_norm_backward", &MapKernels::template norm_backward<Map::LayerNormBackward>);
  }

 private:
  static void check_pair(const char* map, const char* what, const at::Tensor& t, const at::Tensor& other) {
    check_map_dtype(map, t.scalar_type(), what);
    TORCH_CHECK(t.scalar_type() == other.scalar_type() && t.device() == other.device(), "reduce::", map, ": ", what,
                " must have the dtype and device of the other tensor, ", other.scalar_type(), " on ", other.device(),
                ", got ", t.scalar_type(), " on ", t.device());
    TORCH_CHECK(t.sym_sizes().equals(other.sym_sizes()), "reduce::", map, ": ", what, " has shape ", t.sym_sizes(),
                ", the other tensor ", other.sym_sizes());
  }

  static Pair pair_of(const MapOutputs& to) { return {to.out, to.written}; }

  static at::Tensor scaled(Map map, MapInputs& in, int64_t dim, at::ScalarType type, const Mask& mask, double scale) {
    const double rounded = in.x.scalar_type() == at::kDouble ? scale : static_cast<float>(scale);
    TORCH_CHECK_VALUE(rounded > 0 && std::isfinite(rounded), "reduce::", name(map),
                      ": scale must be positive and finite in the compute type, got ", scale);
    if (mask && mask->defined()) in.mask = mask_over(name(map), *mask, in.x);
    return run(map, in, {dim, dim + 1}, {0, scale}, type).out;
  }

  static MapOutputs norm(Map map, MapInputs& in, int64_t dims, double eps) {
    check_map_dtype(name(map), in.x.scalar_type(), "the input");
    TORCH_CHECK(dims >= 1 && dims <= in.x.dim(), "reduce::", name(map), ": a row has from 1 to ", in.x.dim(),
                " dims, got ", dims);
    make_parameters_alike(name(map), in);
    return run(map, in, {in.x.dim() - dims, in.x.dim()}, of_channels(map, in, {eps}), in.x.scalar_type());
  }

  // With what there is to know of channels, of rows in the last dim of three.
  static MapOptions of_channels(Map map, const MapInputs& in, MapOptions options) {
    if (!traits_of(map).has_channels) return options;
    TORCH_CHECK(in.x.dim() == 3, "reduce::", name(map), ": the input has the shape (batch, groups, row), got ",
                in.x.sym_sizes());
    if (Device::kMostDims == 0) return options;
    const int64_t groups = in.x.size(1);
    options.groups = std::max<int64_t>(groups, 1);
    int64_t channels = groups;
    for (const at::Tensor* t : {&in.weight, &in.bias}) {
      if (t->defined()) channels = t->numel();
    }
    const int64_t each = std::max<int64_t>(channels / options.groups, 1);
    for (const at::Tensor* t : {&in.weight, &in.bias}) {
      TORCH_CHECK(!t->defined() || (t->numel() == channels && channels == each * groups), "reduce::", name(map),
                  ": weight and bias are of as many channels, some for each of ", groups, " groups, got ", t->sizes());
    }
    TORCH_CHECK(in.x.size(2) % each == 0, "reduce::", name(map), ": a row has ", in.x.size(2), " elements, for ", each,
                " channels");
    options.channel = std::max<int64_t>(in.x.size(2) / each, 1);
    return options;
  }

  static MapOutputs run(Map map, MapInputs& in, RowDims row, const MapOptions& options, at::ScalarType type) {
    MapOutputs to;
    if (traits_of(map).writes_values) to.out = Device::empty(in.x.sym_sizes(), type, in.x);
    if (traits_of(map).adds_second) to.sum = Device::empty(in.x.sym_sizes(), type, in.x);
    if (const int kept = traits_of(map).words_written; kept > 0) {
      c10::SymDimVector words;
      for (int64_t d = 0; d < in.x.dim(); ++d) {
        if (d < row.first || d >= row.end) words.push_back(in.x.sym_size(d));
      }
      words.push_back(kept);
      to.written = Device::empty(words, compute_type_of_map(in.x.scalar_type()), in.x);
    }
    if constexpr (Device::kMostDims > 0) {
      MapOutputs of_dims = to;
      if (in.x.dim() == 0) {
        for (at::Tensor* t : {&in.x, &in.second, &in.mask, &of_dims.out}) {
          if (t->defined()) *t = t->reshape(1);
        }
      }
      const MapProblem p = describe_map(map, in, row, options, of_dims, Device::kMostDims);
      if (!is_empty(p)) Device::run(p, in, of_dims);
    }
    return to;
  }
};

}  // namespace torch_reduce
