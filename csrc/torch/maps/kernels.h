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
    return run(map, in, {self.dim() - dims, self.dim()}, {}, self.scalar_type()).out;
  }

  // In the compute type.
  template <Map map>
  static at::Tensor norm_products(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims) {
    check_pair(name(map), "the gradient", grad, self);
    MapInputs in{grad, self, {}, {}, row.contiguous()};
    return run(map, in, {self.dim() - dims, self.dim()}, {}, compute_type_of_map(self.scalar_type())).out;
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
    m.impl("_rms_norm_products", &MapKernels::template norm_products<Map::RmsNormProducts>);
    m.impl("_layer_norm_products", &MapKernels::template norm_products<Map::LayerNormProducts>);
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
    return run(map, in, {in.x.dim() - dims, in.x.dim()}, {eps}, in.x.scalar_type());
  }

  static MapOutputs run(Map map, MapInputs& in, RowDims row, const MapOptions& options, at::ScalarType type) {
    MapOutputs to{Device::empty(in.x.sym_sizes(), type, in.x)};
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
