// The node is written by hand, as torch's own derivatives are: torch::autograd::Function refuses to run under
// torch.func.
#include "reduce_backward.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "compiled_node.h"
#include "node_owner.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// The gradients as a function of all that they depend on.
struct Gradient {
  // Those of Reduction, whether there are two tensors, those of TwoOperands, and which of both gradients are wanted.
  using Values = std::tuple<int64_t, int64_t, std::vector<int64_t>, bool, std::string, double, bool,
                            std::vector<c10::SymInt>, at::ScalarType, at::Tensor, at::Tensor, at::Tensor, bool, bool>;
  static constexpr const char* name = "torch_reduce_ReduceBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [op, scan, dims, keepdim, mode, correction, of_two, sizes, type, self, result, other, first, second] =
        values;
    const Reduction reduction{static_cast<Op>(op),
                              {dims.begin(), dims.end()},
                              keepdim,
                              mode,
                              correction,
                              scan < 0 ? std::nullopt : std::optional(static_cast<Scan>(scan))};
    return of(grad, reduction, of_two, {{sizes, type, self, result}, other}, {first, second});
  }
  static variable_list of(const at::Tensor& grad, const Reduction& reduction, bool of_two, const TwoOperands& operands,
                          std::array<bool, 2> wanted) {
    if (of_two) {
      auto [first, second] = backward_of_two(reduction, grad, operands, wanted);
      return {std::move(first), std::move(second)};
    }
    const bool is_zero = !wanted[0] || !grad.defined();
    return {is_zero ? at::Tensor() : apply_backward(reduction, grad, operands.first)};
  }
};

struct ReduceBackward : torch::autograd::Node {
  Reduction reduction;
  bool of_two = false;
  std::vector<c10::SymInt> sizes;  // of self
  at::ScalarType type = at::kFloat;
  SavedVariable self, result, other;

  int64_t scan() const { return reduction.scan ? static_cast<int64_t>(*reduction.scan) : -1; }
  TwoOperands operands() {
    const Derivative& derivative = derivative_of(reduction);
    return {{sizes, type, of_two || derivative.reads_self ? self.unpack() : at::Tensor(),
             derivative.reads_result ? result.unpack(NodeOwner<ReduceBackward>::of(*this)) : at::Tensor()},
            of_two ? other.unpack() : at::Tensor()};
  }
  std::array<bool, 2> wanted() const {
    return {task_should_compute_output(0), of_two && task_should_compute_output(1)};
  }
  variable_list apply(variable_list&& grads) override {
    return Gradient::of(grads[0], reduction, of_two, operands(), wanted());
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(static_cast<int64_t>(reduction.op));
    args.collect(scan());
    args.collect(at::IntArrayRef(reduction.dims));
    args.collect(reduction.keepdim);
    args.collect(reduction.mode);
    args.collect(reduction.correction);
    args.collect(of_two);
    args.collect(sizes);
    args.collect(type);
    args.collect(self, /*is_output=*/false);
    args.collect(result, /*is_output=*/true);
    args.collect(other, /*is_output=*/false);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    saved.before(sizes);
    saved.before(self);
    saved.before(result);
    saved.before(other);
    const TwoOperands o = operands();
    const auto [first, second] = wanted();
    variable_list gradients = CompiledNode<Gradient>::call(
        *this, grads, saved,
        {static_cast<int64_t>(reduction.op), scan(), std::vector<int64_t>(reduction.dims.begin(), reduction.dims.end()),
         reduction.keepdim, reduction.mode, reduction.correction, of_two, sizes, type, o.first.self, o.first.result,
         o.other, first, second});
    saved.after(sizes);
    saved.after(self);
    saved.after(result);
    saved.after(other);
    return gradients;
  }

  std::string name() const override {
    std::string op = reduction.scan ? torch_reduce::name(*reduction.scan) : torch_reduce::name(reduction.op);
    op[0] = static_cast<char>(op[0] - 'a' + 'A');
    const bool is_masked = of_two && traits_of(reduction.op).role == Role::None;
    return "Reduce" + op + (is_masked ? "WhereBackward" : "Backward");
  }
  void release_variables() override {
    self.reset_data();
    result.reset_data();
    other.reset_data();
  }
};

bool wants_gradient(const at::Tensor& x) { return x.defined() && x.requires_grad() && at::GradMode::is_enabled(); }
at::Tensor tangent_of(const at::Tensor& x) { return x.defined() ? x._fw_grad(/*level=*/0) : at::Tensor(); }

auto node_of(const Reduction& reduction, const at::Tensor& self, const at::Tensor& other, at::Tensor& result) {
  const auto node = NodeOwner<ReduceBackward>::make();
  node->of_two = other.defined();
  node->set_next_edges(node->of_two ? torch::autograd::collect_next_edges(self, other)
                                    : torch::autograd::collect_next_edges(self));
  node->reduction = reduction;
  const auto sizes = self.sym_sizes();
  node->sizes.assign(sizes.begin(), sizes.end());
  node->type = self.scalar_type();
  torch::autograd::set_history(result, node);
  if (node->of_two || derivative_of(reduction).reads_self) node->self = SavedVariable(self, /*is_output=*/false);
  if (node->of_two) node->other = SavedVariable(other, /*is_output=*/false);
  return node;
}

}  // namespace

bool is_differentiated(const at::Tensor& x) { return wants_gradient(x) || tangent_of(x).defined(); }

void record(const Reduction& reduction, const at::Tensor& self, const at::Tensor& other, at::Tensor& result) {
  const Derivative& derivative = derivative_of(reduction);
  decltype(NodeOwner<ReduceBackward>::make()) node;
  if (wants_gradient(self) || wants_gradient(other)) node = node_of(reduction, self, other, result);
  const std::array<at::Tensor, 2> tangents{tangent_of(self), tangent_of(other)};
  if (tangents[0].defined() || tangents[1].defined()) {
    // The primals, as a formula over the tensors themselves would have a tangent of its own.
    const Operands first{self.sym_sizes(), self.scalar_type(), self._fw_primal(/*level=*/0), result};
    const at::Tensor tangent = other.defined()
                                   ? forward_of_two(reduction, tangents, {first, other._fw_primal(/*level=*/0)})
                                   : apply_forward(reduction, tangents[0], first);
    result._set_fw_grad(tangent, /*level=*/0, /*is_inplace_op=*/false);
  }
  // With its tangent, which a derivative of the gradient reads.
  if (node && derivative.reads_result) node->result = SavedVariable(result, /*is_output=*/true);
}

}  // namespace torch_reduce
