// The derivatives of rms_norm, layer_norm, group_norm and batch_norm. Those of weight and bias are sums over the rows,
// in the canonical order; or over a channel's elements of each row, and then over the rows.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include "../../maps/call.h"
#include "../compiled_node.h"
#include "../node_owner.h"
#include "formulas.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

struct Gradient {
  // Those of Norm, of Kept and of Wanted.
  using Values = std::tuple<bool, int64_t, double, int64_t, int64_t, at::Tensor, at::Tensor, at::Tensor, at::ScalarType,
                            at::ScalarType, at::ScalarType, bool, bool, bool>;
  static constexpr const char* name = "torch_reduce_NormBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [centred, dims, eps, channels, statistics, self, weight, row, type, weight_type, bias_type, of_x,
                 of_weight, of_bias] = values;
    return gradients_of({centred, dims, eps, channels, static_cast<Statistics>(statistics)}, grad,
                        {self, weight, row, type, weight_type, bias_type}, {of_x, of_weight, of_bias},
                        /*again=*/false);
  }
};

struct NormNode : torch::autograd::Node {
  Norm norm{};
  bool has_weight = false;
  at::ScalarType type = at::kFloat, weight_type = at::kFloat, bias_type = at::kFloat;
  SavedVariable self, weight, row;

  Kept kept() {
    return {self.unpack(), has_weight ? weight.unpack() : at::Tensor(), row.unpack(), type, weight_type, bias_type};
  }
  Wanted wanted() const {
    return {task_should_compute_output(0), task_should_compute_output(1),
            norm.centred && task_should_compute_output(2)};
  }
  variable_list apply(variable_list&& grads) override {
    return gradients_of(norm, grads[0], kept(), wanted(), at::GradMode::is_enabled());
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(norm.centred);
    args.collect(norm.dims);
    args.collect(norm.eps);
    args.collect(norm.channels);
    args.collect(static_cast<int64_t>(norm.statistics));
    args.collect(has_weight);
    for (const at::ScalarType t : {type, weight_type, bias_type}) args.collect(t);
    for (const SavedVariable* t : {&self, &weight, &row}) args.collect(*t, /*is_output=*/false);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    for (SavedVariable* t : {&self, &weight, &row}) saved.before(*t);
    const Kept k = kept();
    const auto [of_x, of_weight, of_bias] = wanted();
    variable_list gradients = CompiledNode<Gradient>::call(
        *this, grads, saved,
        {norm.centred, norm.dims, norm.eps, norm.channels, static_cast<int64_t>(norm.statistics), k.self, k.weight,
         k.row, type, weight_type, bias_type, of_x, of_weight, of_bias});
    for (SavedVariable* t : {&self, &weight, &row}) saved.after(*t);
    return gradients;
  }

  std::string name() const override {
    return norm.statistics != Statistics::OfRow ? "ReduceBatchNormBackward"
           : norm.has_channels()                ? "ReduceGroupNormBackward"
           : norm.centred                       ? "ReduceLayerNormBackward"
                                                : "ReduceRmsNormBackward";
  }
  void release_variables() override {
    self.reset_data();
    weight.reset_data();
    row.reset_data();
  }
};

at::Tensor tangent_of(const at::Tensor& t) { return t.defined() ? t._fw_grad(/*level=*/0) : at::Tensor(); }

// Whether a tangent that is made of the tensor may be differentiated itself: by a node, or by a transform of torch.func
// around the one that asks for it.
bool may_be_differentiated(const at::Tensor& t) {
  return (t.requires_grad() && at::GradMode::is_enabled()) || t.key_set().has(c10::DispatchKey::FuncTorchGradWrapper);
}

// The node and the tangent of a norm whose kernel has run.
void record(const Norm& norm, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& bias,
            at::Tensor& result, const at::Tensor& row) {
  variable_list inputs{self, weight};
  if (norm.centred) inputs.push_back(bias);
  bool wants_gradient = false, has_tangent = false;
  for (const at::Tensor& t : inputs) {
    wants_gradient |= t.defined() && t.requires_grad() && at::GradMode::is_enabled();
    has_tangent |= tangent_of(t).defined();
  }
  if (wants_gradient) {
    const auto node = NodeOwner<NormNode>::make();
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
    node->norm = norm;
    node->has_weight = weight.defined();
    node->type = self.scalar_type();
    if (weight.defined()) node->weight_type = weight.scalar_type();
    if (bias.defined()) node->bias_type = bias.scalar_type();
    node->self = SavedVariable(self, /*is_output=*/false);
    if (weight.defined()) node->weight = SavedVariable(weight, /*is_output=*/false);
    node->row = SavedVariable(row, /*is_output=*/false);
    torch::autograd::set_history(result, node);
  }
  if (!has_tangent) return;
  const at::Tensor primal = self._fw_primal(0);
  const Normal normal =
      may_be_differentiated(primal) ? differentiable_normal_of(norm, primal, row) : normal_of(norm, primal, row);
  at::Tensor moved = at::zeros({}, row.options());
  if (const at::Tensor t = tangent_of(self); t.defined()) {
    const at::Tensor through = through_normal(norm, t.to(row.scalar_type()), normal);
    moved = weight.defined() ? through * norm.beside(weight._fw_primal(0), self) : through;
  }
  if (const at::Tensor t = tangent_of(weight); t.defined()) moved = moved + normal.x * norm.beside(t, self);
  if (const at::Tensor t = tangent_of(bias); t.defined()) moved = moved + norm.beside(t, self);
  result._set_fw_grad(moved.expand_as(result).to(result.scalar_type()).contiguous(), /*level=*/0,
                      /*is_inplace_op=*/false);
}

// The gradient of a sum is that of both tensors.
struct SumGradient {
  using Values = std::tuple<bool>;
  static constexpr const char* name = "torch_reduce_SumOfTwoBackward";

  static variable_list of(const at::Tensor& grad, const Values&) { return {grad, grad}; }
};
struct SumNode : torch::autograd::Node {
  variable_list apply(variable_list&& grads) override { return SumGradient::of(grads[0], {}); }
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs&) const override {}
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    return CompiledNode<SumGradient>::call(*this, grads, saved, {});
  }
  std::string name() const override { return "ReduceSumOfTwoBackward"; }
};

void record_sum(const at::Tensor& self, const at::Tensor& residual, at::Tensor& sum) {
  if ((self.requires_grad() || residual.requires_grad()) && at::GradMode::is_enabled()) {
    const auto node = NodeOwner<SumNode>::make();
    node->set_next_edges(torch::autograd::collect_next_edges(self, residual));
    torch::autograd::set_history(sum, node);
  }
  const at::Tensor of_self = tangent_of(self), of_residual = tangent_of(residual);
  if (!of_self.defined() && !of_residual.defined()) return;
  const at::Tensor& one = of_self.defined() ? of_self : of_residual;
  const at::Tensor both = of_self.defined() && of_residual.defined() ? of_self + of_residual : one.clone();
  sum._set_fw_grad(both, /*level=*/0, /*is_inplace_op=*/false);
}

using Pair = std::tuple<at::Tensor, at::Tensor>;

Pair rms_norm(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight,
              double eps) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_rms_norm", "").typed<RmsNorms>();
  auto [result, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, dims, weight, eps);
  }();
  record({false, dims, eps}, self, weight.value_or(at::Tensor()), at::Tensor(), result, row);
  return {result, row};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> add_rms_norm(c10::DispatchKeySet keys, const at::Tensor& self,
                                                            const at::Tensor& residual, int64_t dims,
                                                            const std::optional<at::Tensor>& weight, double eps) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_add_rms_norm", "").typed<AddRmsNorms>();
  auto [result, sum, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, residual, dims, weight, eps);
  }();
  record_sum(self, residual, sum);
  record({false, dims, eps}, sum, weight.value_or(at::Tensor()), at::Tensor(), result, row);
  return {result, sum, row};
}

Pair layer_norm(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dims, const std::optional<at::Tensor>& weight,
                const std::optional<at::Tensor>& bias, double eps) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_layer_norm", "").typed<LayerNorms>();
  auto [result, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, dims, weight, bias, eps);
  }();
  record({true, dims, eps}, self, weight.value_or(at::Tensor()), bias.value_or(at::Tensor()), result, row);
  return {result, row};
}

Pair group_norm(c10::DispatchKeySet keys, const at::Tensor& self, const std::optional<at::Tensor>& weight,
                const std::optional<at::Tensor>& bias, double eps) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_group_norm", "").typed<GroupNorms>();
  auto [result, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, weight, bias, eps);
  }();
  const at::Tensor w = weight.value_or(at::Tensor()), b = bias.value_or(at::Tensor());
  const at::Tensor& parameter = w.defined() ? w : b;
  const int64_t channels = parameter.defined() ? parameter.sym_numel().guard_int(__FILE__, __LINE__) : 1;
  record({true, 1, eps, channels}, self, w, b, result, row);
  return {result, row};
}

Pair batch_norm(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& mean, const at::Tensor& variance,
                const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, double eps,
                bool of_batch) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_batch_norm", "").typed<BatchNorms>();
  auto [result, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.redispatch(keys & c10::after_autograd_keyset, self, mean, variance, weight, bias, eps, of_batch);
  }();
  const int64_t channels = mean.sym_size(0).guard_int(__FILE__, __LINE__);
  record({true, 1, eps, channels, of_batch ? Statistics::OfBatch : Statistics::Given}, self,
         weight.value_or(at::Tensor()), bias.value_or(at::Tensor()), result, row);
  return {result, row};
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) {
  m.impl("_group_norm", TORCH_FN(group_norm));
  m.impl("_batch_norm", TORCH_FN(batch_norm));
  m.impl("_batch_norm_backward", torch::CppFunction::makeFallthrough());
  m.impl("_normal_products", torch::CppFunction::makeFallthrough());
  m.impl("_group_norm_backward", torch::CppFunction::makeFallthrough());
  m.impl("_channel_sums", torch::CppFunction::makeFallthrough());
  m.impl("_rms_norm", TORCH_FN(rms_norm));
  m.impl("_add_rms_norm", TORCH_FN(add_rms_norm));
  m.impl("_layer_norm", TORCH_FN(layer_norm));
  // Called where nothing is to be differentiated.
  m.impl("_rms_norm_backward", torch::CppFunction::makeFallthrough());
  m.impl("_layer_norm_backward", torch::CppFunction::makeFallthrough());
  m.impl("_norm_weight_backward", torch::CppFunction::makeFallthrough());
  m.impl("_norm_gradients", torch::CppFunction::makeFallthrough());
}

}  // namespace torch_reduce
