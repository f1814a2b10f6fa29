// What every device shares: checks, results, and the problem that the device then works on.
#pragma once

#include <ATen/WrapDimUtils.h>
#include <torch/library.h>

#include "../dispatch/call.h"
#include "call.h"
#include "describe.h"
#include "losses.h"

namespace torch_reduce {

// Device has
//   static constexpr int kMostDims;  // of rows; 0: there is no memory, and nothing is run
//   static at::Tensor empty(at::SymIntArrayRef sizes, at::ScalarType type, const at::Tensor& like);
//   static void run(const MapProblem&, const MapInputs&, const at::Tensor& out, const at::Tensor& written);
//   static void run(LossStep, const LossCall&, const LossInputs&, const at::Tensor& out);
template <class Device>
struct MapKernels {
  using Pair = std::tuple<at::Tensor, at::Tensor>;

  template <Map map>
  static at::Tensor softmax(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype) {
    const int64_t d = at::maybe_wrap_dim(dim, self.dim());
    const at::ScalarType type = dtype.value_or(self.scalar_type());
    check_map_dtype(name(map), type, dtype ? "the result" : "the input");
    // An integer is converted first; what is rounded by that, torch rounds too.
    const bool widens = type == at::kDouble || !self.is_floating_point();
    MapInputs in{widens ? self.to(type) : self, {}, {}, {}, {}};
    check_map_dtype(name(map), in.x.scalar_type(), "the input");
    return std::get<0>(run(map, in, {d, d + 1}, 0, type));
  }

  template <Map map>
  static at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& result, int64_t dim,
                                     at::ScalarType type) {
    const int64_t d = at::maybe_wrap_dim(dim, result.dim());
    check_pair(name(map), grad, result);
    MapInputs in{grad, result, {}, {}, {}};
    return std::get<0>(run(map, in, {d, d + 1}, 0, type));
  }

  static Pair rms_norm(const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight, double eps) {
    MapInputs in{self, {}, weight.value_or(at::Tensor()), {}, {}};
    return norm(Map::RmsNorm, in, dims, eps);
  }
  static Pair layer_norm(const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight,
                         const std::optional<at::Tensor>& bias, double eps) {
    MapInputs in{self, {}, weight.value_or(at::Tensor()), bias.value_or(at::Tensor()), {}};
    return norm(Map::LayerNorm, in, dims, eps);
  }

  static at::Tensor logits_backward(const at::Tensor& self, const at::Tensor& row, int64_t dim) {
    const int64_t d = at::maybe_wrap_dim(dim, self.dim());
    MapInputs in{self, {}, {}, {}, row.contiguous()};
    return std::get<0>(run(Map::CrossEntropyBackward, in, {d, d + 1}, 0, self.scalar_type()));
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
    check_pair(name(map), grad, self);
    MapInputs in{grad, self, weight.value_or(at::Tensor()), {}, row.contiguous()};
    make_parameters_alike(name(map), in);
    return std::get<0>(run(map, in, {self.dim() - dims, self.dim()}, 0, self.scalar_type()));
  }

  // In the compute type.
  template <Map map>
  static at::Tensor norm_products(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& row, int64_t dims) {
    check_pair(name(map), grad, self);
    MapInputs in{grad, self, {}, {}, row.contiguous()};
    return std::get<0>(run(map, in, {self.dim() - dims, self.dim()}, 0, compute_type_of_map(self.scalar_type())));
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
    m.impl("_layer_norm", TORCH_FN(layer_norm));
    m.impl("_rms_norm_backward", &MapKernels::template norm_backward<Map::RmsNormBackward>);
    m.impl("_rms_norm_products", &MapKernels::template norm_products<Map::RmsNormProducts>);
    m.impl("_layer_norm_products", &MapKernels::template norm_products<Map::LayerNormProducts>);
    m.impl("_layer_norm_backward", &MapKernels::template norm_backward<Map::LayerNormBackward>);
  }

 private:
  static void check_pair(const char* map, const at::Tensor& grad, const at::Tensor& other) {
    check_map_dtype(map, grad.scalar_type(), "the gradient");
    TORCH_CHECK(grad.scalar_type() == other.scalar_type() && grad.device() == other.device(), "reduce::", map,
                ": the gradient must have the dtype and device of the other tensor, ", other.scalar_type(), " on ",
                other.device(), ", got ", grad.scalar_type(), " on ", grad.device());
    TORCH_CHECK(grad.sym_sizes().equals(other.sym_sizes()), "reduce::", map, ": the gradient has shape ",
                grad.sym_sizes(), ", the other tensor ", other.sym_sizes());
  }

  static Pair norm(Map map, MapInputs& in, int64_t dims, double eps) {
    check_map_dtype(name(map), in.x.scalar_type(), "the input");
    TORCH_CHECK(dims >= 1 && dims <= in.x.dim(), "reduce::", name(map), ": a row has from 1 to ", in.x.dim(),
                " dims, got ", dims);
    make_parameters_alike(name(map), in);
    return run(map, in, {in.x.dim() - dims, in.x.dim()}, eps, in.x.scalar_type());
  }

  // The result, and what is kept of rows, if there is anything.
  static Pair run(Map map, MapInputs& in, RowDims row, double eps, at::ScalarType type) {
    const at::Tensor out = Device::empty(in.x.sym_sizes(), type, in.x);
    at::Tensor written;
    if (const int kept = traits_of(map).words_written; kept > 0) {
      c10::SymDimVector words;
      for (int64_t d = 0; d < in.x.dim(); ++d) {
        if (d < row.first || d >= row.end) words.push_back(in.x.sym_size(d));
      }
      words.push_back(kept);
      written = Device::empty(words, compute_type_of_map(in.x.scalar_type()), in.x);
    }
    if constexpr (Device::kMostDims > 0) {
      if (in.x.dim() == 0) {
        in.x = in.x.reshape(1);
        if (in.second.defined()) in.second = in.second.reshape(1);
      }
      const at::Tensor result = out.dim() == 0 ? out.reshape(1) : out;
      const MapProblem p = describe_map(map, in, row, eps, result, Device::kMostDims);
      if (!is_empty(p)) Device::run(p, in, result, written);
    }
    return {out, written};
  }
};

}  // namespace torch_reduce
