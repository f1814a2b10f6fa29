// Autograd of the operators of two tensors, as autograd.cpp's of one.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

#include "../dispatch/two.h"
#include "compiled_node.h"
#include "derivative_of_two.h"
#include "node_owner.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

struct GradientOfTwo {
  // Those of Reduction, those of TwoOperands, and which of both gradients are wanted.
  using Values = std::tuple<int64_t, std::vector<int64_t>, bool, std::string, double, std::vector<c10::SymInt>,
                            at::ScalarType, at::Tensor, at::Tensor, at::Tensor, bool, bool>;
  static constexpr const char* name = "torch_reduce_ReduceOfTwoBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [op, dims, keepdim, mode, correction, sizes, type, self, other, result, first, second] = values;
    const Reduction reduction{static_cast<Op>(op), {dims.begin(), dims.end()}, keepdim, mode, correction, std::nullopt};
    return of(grad, reduction, {{sizes, type, self, result}, other}, {first, second});
  }
  static variable_list of(const at::Tensor& grad, const Reduction& reduction, const TwoOperands& operands,
                          std::array<bool, 2> wanted) {
    auto [first, second] = backward_of_two(reduction, grad, operands, wanted);
    return {std::move(first), std::move(second)};
  }
};

struct ReduceOfTwoBackward : torch::autograd::Node {
  Reduction reduction;
  std::vector<c10::SymInt> sizes;
  at::ScalarType type = at::kFloat;
  SavedVariable self, other, result;

  TwoOperands operands() {
    return {{sizes, type, self.unpack(),
             reads_result_of_two(reduction) ? result.unpack(NodeOwner<ReduceOfTwoBackward>::of(*this)) : at::Tensor()},
            other.unpack()};
  }
  std::array<bool, 2> wanted() const { return {task_should_compute_output(0), task_should_compute_output(1)}; }
  variable_list apply(variable_list&& grads) override {
    return GradientOfTwo::of(grads[0], reduction, operands(), wanted());
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(static_cast<int64_t>(reduction.op));
    args.collect(at::IntArrayRef(reduction.dims));
    args.collect(reduction.keepdim);
    args.collect(reduction.mode);
    args.collect(reduction.correction);
    args.collect(sizes);
    args.collect(type);
    args.collect(self, /*is_output=*/false);
    args.collect(other, /*is_output=*/false);
    args.collect(result, /*is_output=*/true);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    saved.before(sizes);
    saved.before(self);
    saved.before(other);
    saved.before(result);
    const TwoOperands o = operands();
    const auto [first, second] = wanted();
    variable_list gradients = CompiledNode<GradientOfTwo>::call(
        *this, grads, saved,
        {static_cast<int64_t>(reduction.op), std::vector<int64_t>(reduction.dims.begin(), reduction.dims.end()),
         reduction.keepdim, reduction.mode, reduction.correction, sizes, type, o.first.self, o.other, o.first.result,
         first, second});
    saved.after(sizes);
    saved.after(self);
    saved.after(other);
    saved.after(result);
    return gradients;
  }

  std::string name() const override {
    std::string op = torch_reduce::name(reduction.op);
    op[0] = static_cast<char>(op[0] - 'a' + 'A');
    return "Reduce" + op + (traits_of(reduction.op).role == Role::None ? "WhereBackward" : "Backward");
  }
  void release_variables() override {
    self.reset_data();
    other.reset_data();
    result.reset_data();
  }
};

auto record(const Reduction& reduction, const at::Tensor& self, const at::Tensor& other, at::Tensor& result) {
  const auto node = NodeOwner<ReduceOfTwoBackward>::make();
  node->set_next_edges(torch::autograd::collect_next_edges(self, other));
  node->reduction = reduction;
  const auto sizes = self.sym_sizes();
  node->sizes.assign(sizes.begin(), sizes.end());
  node->type = self.scalar_type();
  torch::autograd::set_history(result, node);
  node->self = SavedVariable(self, /*is_output=*/false);
  node->other = SavedVariable(other, /*is_output=*/false);
  return node;
}

at::Tensor of_two_recorded(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& other,
                           c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                           c10::string_view mode, double correction) {
  at::Tensor result = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return redispatch_of_two(keys & c10::after_autograd_keyset, self, other, op, dim, keepdim, dtype, mode, correction);
  }();
  const bool wants_gradient = (self.requires_grad() || other.requires_grad()) && at::GradMode::is_enabled();
  const std::array<at::Tensor, 2> tangents{self._fw_grad(/*level=*/0), other._fw_grad(/*level=*/0)};
  const bool wants_tangent = tangents[0].defined() || tangents[1].defined();
  if ((!wants_gradient && !wants_tangent) || !at::isFloatingType(result.scalar_type())) return result;

  const Reduction reduction = describe(request_of_two(op, dim, keepdim, dtype, mode, correction), self.dim());
  decltype(NodeOwner<ReduceOfTwoBackward>::make()) node;
  if (wants_gradient) node = record(reduction, self, other, result);
  if (wants_tangent) {
    const TwoOperands operands{{self.sym_sizes(), self.scalar_type(), self._fw_primal(/*level=*/0), result},
                               other._fw_primal(/*level=*/0)};
    result._set_fw_grad(forward_of_two(reduction, tangents, operands), /*level=*/0, /*is_inplace_op=*/false);
  }
  // With its tangent, which a derivative of the gradient reads.
  if (wants_gradient && reads_result_of_two(reduction)) node->result = SavedVariable(result, /*is_output=*/true);
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) { m.impl("_of_two", TORCH_FN(of_two_recorded)); }

}  // namespace torch_reduce
