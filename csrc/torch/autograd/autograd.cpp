// Autograd in C++, so that programs without Python get gradients too. The node is written by hand, as torch's own
// derivatives are: torch::autograd::Function refuses to run under torch.func.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "../dispatch/register.h"
#include "compiled_node.h"
#include "derivative.h"
#include "node_owner.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// The gradient as a function of all that it depends on.
struct Gradient {
  // Those of Reduction, those of Operands.
  using Values = std::tuple<int64_t, int64_t, std::vector<int64_t>, bool, std::string, double, std::vector<c10::SymInt>,
                            at::ScalarType, at::Tensor, at::Tensor>;
  static constexpr const char* name = "torch_reduce_ReduceBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [op, scan, dims, keepdim, mode, correction, sizes, type, self, result] = values;
    const Reduction reduction{static_cast<Op>(op),
                              {dims.begin(), dims.end()},
                              keepdim,
                              mode,
                              correction,
                              scan < 0 ? std::nullopt : std::optional(static_cast<Scan>(scan))};
    return {of(grad, reduction, {sizes, type, self, result})};
  }
  static at::Tensor of(const at::Tensor& grad, const Reduction& reduction, const Operands& operands) {
    return grad.defined() ? derivative_of(reduction).backward(reduction, grad, operands) : at::Tensor();
  }
};

struct ReduceBackward : torch::autograd::Node {
  Reduction reduction;
  std::vector<c10::SymInt> sizes;
  at::ScalarType type = at::kFloat;
  SavedVariable self, result;

  int64_t scan() const { return reduction.scan ? static_cast<int64_t>(*reduction.scan) : -1; }
  Operands operands() {
    const Derivative& derivative = derivative_of(reduction);
    return {sizes, type, derivative.reads_self ? self.unpack() : at::Tensor(),
            derivative.reads_result ? result.unpack(NodeOwner<ReduceBackward>::of(*this)) : at::Tensor()};
  }
  variable_list apply(variable_list&& grads) override {
    return {task_should_compute_output(0) ? Gradient::of(grads[0], reduction, operands()) : at::Tensor()};
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(static_cast<int64_t>(reduction.op));
    args.collect(scan());
    args.collect(at::IntArrayRef(reduction.dims));
    args.collect(reduction.keepdim);
    args.collect(reduction.mode);
    args.collect(reduction.correction);
    args.collect(sizes);
    args.collect(type);
    args.collect(self, /*is_output=*/false);
    args.collect(result, /*is_output=*/true);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    saved.before(sizes);
    saved.before(self);
    saved.before(result);
    const Operands o = operands();
    variable_list gradients = CompiledNode<Gradient>::call(
        *this, grads, saved,
        {static_cast<int64_t>(reduction.op), scan(), std::vector<int64_t>(reduction.dims.begin(), reduction.dims.end()),
         reduction.keepdim, reduction.mode, reduction.correction, sizes, type, o.self, o.result});
    saved.after(sizes);
    saved.after(self);
    saved.after(result);
    return gradients;
  }

  std::string name() const override {
    std::string op = reduction.scan ? torch_reduce::name(*reduction.scan) : torch_reduce::name(reduction.op);
    op[0] = static_cast<char>(op[0] - 'a' + 'A');
    return "Reduce" + op + "Backward";
  }
  void release_variables() override {
    self.reset_data();
    result.reset_data();
  }
};

auto record(const Reduction& reduction, const at::Tensor& self, at::Tensor& result) {
  const auto node = NodeOwner<ReduceBackward>::make();
  node->set_next_edges(torch::autograd::collect_next_edges(self));
  node->reduction = reduction;
  const auto sizes = self.sym_sizes();
  node->sizes.assign(sizes.begin(), sizes.end());
  node->type = self.scalar_type();
  torch::autograd::set_history(result, node);
  const Derivative& derivative = derivative_of(reduction);
  if (derivative.reads_self) node->self = SavedVariable(self, /*is_output=*/false);
  return node;
}

struct Autograd {
  static at::Tensor make(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
    const c10::DispatchKeySet rest = keys & c10::after_autograd_keyset;
    // The common case: no gradient to come and no tangent, as nothing has asked for either, and a kernel of the CPU,
    // which calls no operator that autograd would have to be kept from.
    if (self.unsafeGetTensorImpl()->autograd_meta() == nullptr &&
        rest.highestPriorityTypeId() == c10::DispatchKey::CPU) {
      return redispatch(rest, r, self);
    }
    at::Tensor result = [&] {
      const at::AutoDispatchBelowADInplaceOrView below;
      return redispatch(rest, r, self);
    }();
    const bool wants_gradient = self.requires_grad() && at::GradMode::is_enabled();
    const at::Tensor& tangent = self._fw_grad(/*level=*/0);
    if ((!wants_gradient && !tangent.defined()) || !at::isFloatingType(result.scalar_type())) return result;

    const Reduction reduction = describe(r, self.dim());
    decltype(NodeOwner<ReduceBackward>::make()) node;
    if (wants_gradient) node = record(reduction, self, result);
    if (tangent.defined()) {
      // The primal, as a formula over self itself would have a tangent of its own.
      const Operands operands{self.sym_sizes(), self.scalar_type(), self._fw_primal(/*level=*/0), result};
      result._set_fw_grad(derivative_of(reduction).forward(reduction, tangent, operands), /*level=*/0,
                          /*is_inplace_op=*/false);
    }
    // With its tangent, which a derivative of the gradient reads.
    if (wants_gradient && derivative_of(reduction).reads_result) {
      node->result = SavedVariable(result, /*is_output=*/true);
    }
    return result;
  }

  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    TORCH_CHECK(!at::GradMode::is_enabled() || !(self.requires_grad() || out.requires_grad()), "reduce::", name(r),
                ": functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                "requires grad");
    TORCH_CHECK_NOT_IMPLEMENTED(!self._fw_grad(0).defined() && !out._fw_grad(0).defined(), "reduce::", name(r),
                                ": functions with out=... arguments don't support forward differentiation");
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      redispatch(keys & c10::after_autograd_keyset, r, self, out);
    }
    torch::autograd::impl::bump_version(out);
    return out;
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) { register_kernels<Autograd>(m); }

}  // namespace torch_reduce
