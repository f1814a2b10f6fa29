// The derivatives of softmax and log_softmax. The Jacobian of softmax is symmetric, so a tangent is mapped as a
// gradient is. Where the derivative may be differentiated itself, it is composed of differentiable operators: the same
// operations in the same order, so the same bits.
#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include "../dispatch/call.h"
#include "../maps/call.h"
#include "../maps/describe.h"
#include "compiled_node.h"
#include "node_owner.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

at::Tensor sum_of_row(const at::Tensor& x, int64_t dim) {
  return call(Request{Op::Sum, at::IntArrayRef(dim), /*keepdim=*/true, std::nullopt}, x);
}

at::Tensor where_kept(const at::Tensor& mask, const at::Tensor& x) {
  return mask.defined() ? at::where(mask, x, 0) : x;
}

// What was asked for of a softmax; an undefined mask leaves nothing out. What it leaves out neither gives nor takes a
// derivative: not even NaN, of a row of which nothing is kept, or of one with a NaN.
struct Softmax {
  int64_t dim;
  at::Tensor mask;
  double scale;

  at::Tensor kept(const at::Tensor& x) const { return where_kept(mask, x); }
};

at::Tensor composed(bool logarithm, const at::Tensor& grad, const at::Tensor& result, const Softmax& of,
                    at::ScalarType type) {
  const at::ScalarType compute = compute_type_of_map(result.scalar_type());
  const at::Tensor g = of.kept(grad.to(compute)), y = result.to(compute);
  const at::Tensor gradient = logarithm ? g - y.exp() * sum_of_row(g, of.dim) : y * (g - sum_of_row(g * y, of.dim));
  return of.kept(gradient * of.scale).to(type);
}
at::Tensor tangent_of(bool logarithm, const at::Tensor& tangent, const at::Tensor& result, const Softmax& of) {
  const at::ScalarType compute = compute_type_of_map(result.scalar_type());
  const at::Tensor t = of.kept(tangent.to(compute)), y = result.to(compute);
  const at::Tensor moved = logarithm ? t - sum_of_row(y.exp() * t, of.dim) : y * (t - sum_of_row(t * y, of.dim));
  return of.kept(moved * of.scale).to(result.scalar_type());
}

// Of a gradient that is not to be differentiated itself.
struct Gradient {
  using Values = std::tuple<bool, int64_t, at::ScalarType, at::Tensor, at::Tensor, double>;
  static constexpr const char* name = "torch_reduce_SoftmaxBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [logarithm, dim, type, result, mask, scale] = values;
    if (!grad.defined()) return {at::Tensor()};
    const std::optional<at::Tensor> given = mask.defined() ? std::optional(mask) : std::nullopt;
    return {where_kept(mask, softmax_gradient(logarithm, grad, result, dim, type, given, scale))};
  }
};

template <bool kLogarithm>
struct SoftmaxNode : torch::autograd::Node {
  int64_t dim = 0;
  at::ScalarType type = at::kFloat;
  double scale = 1;
  bool has_mask = false;
  SavedVariable result, mask;

  Gradient::Values values() {
    const at::Tensor y = result.unpack(NodeOwner<SoftmaxNode>::of(*this));
    return {kLogarithm, dim, type, y, has_mask ? mask.unpack() : at::Tensor(), scale};
  }

  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined() || !task_should_compute_output(0)) return {at::Tensor()};
    const Gradient::Values kept = values();
    if (!at::GradMode::is_enabled()) return Gradient::of(grads[0], kept);
    return {composed(kLogarithm, grads[0], std::get<3>(kept), {dim, std::get<4>(kept), scale}, type)};
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(dim);
    args.collect(type);
    args.collect(scale);
    args.collect(has_mask);
    args.collect(result, /*is_output=*/true);
    args.collect(mask, /*is_output=*/false);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    for (SavedVariable* t : {&result, &mask}) saved.before(*t);
    variable_list gradients = CompiledNode<Gradient>::call(*this, grads, saved, values());
    for (SavedVariable* t : {&result, &mask}) saved.after(*t);
    return gradients;
  }

  std::string name() const override { return kLogarithm ? "ReduceLogSoftmaxBackward" : "ReduceSoftmaxBackward"; }
  void release_variables() override {
    result.reset_data();
    mask.reset_data();
  }
};

template <bool kLogarithm>
at::Tensor softmax(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                   const std::optional<at::Tensor>& mask, double scale) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow(kLogarithm ? "reduce::log_softmax" : "reduce::softmax", "")
                             .typed<Softmaxes>();
  at::Tensor result = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, dim, dtype, mask, scale);
  }();
  const bool wants_gradient = self.requires_grad() && at::GradMode::is_enabled();
  const at::Tensor& tangent = self._fw_grad(/*level=*/0);
  if (!wants_gradient && !tangent.defined()) return result;
  dim = at::maybe_wrap_dim(dim, self.dim());
  decltype(NodeOwner<SoftmaxNode<kLogarithm>>::make()) node;
  if (wants_gradient) {
    node = NodeOwner<SoftmaxNode<kLogarithm>>::make();
    node->set_next_edges(torch::autograd::collect_next_edges(self));
    node->dim = dim;
    node->type = self.scalar_type();
    node->scale = scale;
    node->has_mask = mask && mask->defined();
    if (node->has_mask) node->mask = SavedVariable(*mask, /*is_output=*/false);
    torch::autograd::set_history(result, node);
  }
  if (tangent.defined()) {
    const Softmax of{dim, mask.value_or(at::Tensor()), scale};
    result._set_fw_grad(tangent_of(kLogarithm, tangent, result, of), /*level=*/0, /*is_inplace_op=*/false);
  }
  if (wants_gradient) node->result = SavedVariable(result, /*is_output=*/true);
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) {
  m.impl("softmax", TORCH_FN(softmax<false>));
  m.impl("log_softmax", TORCH_FN(softmax<true>));
  // Called where nothing is to be differentiated.
  m.impl("_softmax_backward", torch::CppFunction::makeFallthrough());
  m.impl("_log_softmax_backward", torch::CppFunction::makeFallthrough());
}

}  // namespace torch_reduce
