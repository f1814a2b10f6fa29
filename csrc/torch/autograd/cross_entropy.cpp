// The losses of rows of logits, which are read once for them and once for their gradient, and never copied.
//
// Of a row with the logarithm l of its sum of exponentials: (1 - smoothing) (l - x[target]) + smoothing (l - mean of x)
// + z l^2, in the compute type.
#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "../dispatch/call.h"
#include "../dispatch/composites.h"
#include "../dispatch/two.h"
#include "../maps/autocast.h"
#include "../maps/call.h"
#include "../maps/describe.h"
#include "compiled_node.h"
#include "node_owner.h"

namespace torch_reduce {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

struct Loss {
  int64_t dim, ignore_index;
  double smoothing, z;
};

// The targets that count; the others are 0, which is in every row.
struct Targets {
  at::Tensor ignored, index;
  Targets(const Loss& loss, const at::Tensor& target)
      : ignored(target == loss.ignore_index), index(target.masked_fill(ignored, 0).unsqueeze(loss.dim)) {}
};

using Pair = std::tuple<at::Tensor, at::Tensor>;

// By row: shares * scale - shift, less what the target alone has.
struct Factors {
  at::Tensor scale, shift, of_target;
  Factors(const Loss& loss, const at::Tensor& grad, const at::Tensor& ignored, const at::Tensor& log,
          const c10::SymInt& classes) {
    const at::Tensor g = grad.masked_fill(ignored, 0);
    scale = loss.z == 0 ? g : g * (log * (2 * loss.z) + 1);
    shift = loss.smoothing == 0 ? at::zeros_like(g)
                                : g * (loss.smoothing / static_cast<double>(classes.guard_int(__FILE__, __LINE__)));
    of_target = g * (1 - loss.smoothing);
  }
};

at::Tensor gradient(const Loss& loss, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                    const at::Tensor& row) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("reduce::_cross_entropy_backward", "")
                             .typed<CrossEntropyGradient>();
  return op.call(grad, self, target, row, loss.dim, loss.ignore_index, loss.smoothing, loss.z);
}
// What the derivatives that may be differentiated again are made of: a sum over the classes keeps no dim.
struct Formula {
  const Loss& loss;
  Targets targets;
  at::Tensor x, shares;
  Factors of_rows;

  Formula(const Loss& l, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target)
      : loss(l),
        targets(l, target),
        x(self.to(compute_type_of_map(self.scalar_type()))),
        shares(shares_of(x, l.dim)),
        of_rows(l, grad, targets.ignored, l.z == 0 ? grad : over_classes(Op::LogSumExp, x), self.sym_size(l.dim)) {}

  at::Tensor over_classes(Op op, const at::Tensor& t) const {
    return call(Request{op, at::IntArrayRef(loss.dim), false, std::nullopt}, t);
  }

 private:
  static at::Tensor shares_of(const at::Tensor& x, int64_t dim) {
    static const auto log_softmax =
        c10::Dispatcher::singleton().findSchemaOrThrow("reduce::log_softmax", "").typed<Softmaxes>();
    return log_softmax.call(x, dim, std::nullopt, std::nullopt, 1).exp();
  }
};

at::Tensor differentiable_gradient(const Loss& loss, const at::Tensor& grad, const at::Tensor& self,
                                   const at::Tensor& target) {
  const Formula f(loss, grad, self, target);
  const auto beside_classes = [&](const at::Tensor& t) { return t.unsqueeze(loss.dim); };
  const at::Tensor all = f.shares * beside_classes(f.of_rows.scale) - beside_classes(f.of_rows.shift);
  return all.scatter_add(loss.dim, f.targets.index, -beside_classes(f.of_rows.of_target)).to(self.scalar_type());
}
at::Tensor tangent_of(const Loss& loss, const at::Tensor& tangent, const at::Tensor& self, const at::Tensor& target) {
  const at::Tensor t = tangent.to(compute_type_of_map(self.scalar_type()));
  const Formula f(loss, at::ones_like(target, t.options()), self, target);
  const auto& [scale, shift, of_target] = f.of_rows;
  at::Tensor moved = scale * f.over_classes(Op::Sum, f.shares * t);
  if (loss.smoothing != 0) moved = moved - shift * f.over_classes(Op::Sum, t);
  moved = moved - of_target * t.gather(loss.dim, f.targets.index).squeeze(loss.dim);
  return moved.masked_fill(f.targets.ignored, 0);
}

struct Gradient {
  using Values = std::tuple<int64_t, int64_t, double, double, at::Tensor, at::Tensor, at::Tensor>;
  static constexpr const char* name = "torch_reduce_CrossEntropyBackward";

  static variable_list of(const at::Tensor& grad, const Values& values) {
    const auto& [dim, ignore_index, smoothing, z, self, target, row] = values;
    return {grad.defined() ? gradient({dim, ignore_index, smoothing, z}, grad, self, target, row) : at::Tensor(),
            at::Tensor()};
  }
};

struct CrossEntropyNode : torch::autograd::Node {
  Loss loss{};
  SavedVariable self, target, row;

  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined() || !task_should_compute_output(0)) return {at::Tensor(), at::Tensor()};
    const at::Tensor x = self.unpack(), t = target.unpack();
    return {at::GradMode::is_enabled() ? differentiable_gradient(loss, grads[0], x, t)
                                       : gradient(loss, grads[0], x, t, row.unpack()),
            at::Tensor()};
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(loss.dim);
    args.collect(loss.ignore_index);
    args.collect(loss.smoothing);
    args.collect(loss.z);
    for (const SavedVariable* t : {&self, &target, &row}) args.collect(*t, /*is_output=*/false);
  }
  variable_list apply_with_saved(const variable_list& grads,
                                 torch::dynamo::autograd::SwapSavedVariables& saved) override {
    for (SavedVariable* t : {&self, &target, &row}) saved.before(*t);
    variable_list gradients = CompiledNode<Gradient>::call(
        *this, grads, saved,
        {loss.dim, loss.ignore_index, loss.smoothing, loss.z, self.unpack(), target.unpack(), row.unpack()});
    for (SavedVariable* t : {&self, &target, &row}) saved.after(*t);
    return gradients;
  }

  std::string name() const override { return "ReduceCrossEntropyBackward"; }
  void release_variables() override {
    self.reset_data();
    target.reset_data();
    row.reset_data();
  }
};

const auto& losses_op() {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_cross_entropy", "").typed<CrossEntropies>();
  return op;
}

Pair differentiable_losses(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& target, int64_t dim,
                           int64_t ignore_index, double smoothing, double z) {
  dim = at::maybe_wrap_dim(dim, self.dim());
  auto [result, row] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return losses_op().redispatch(keys & c10::after_autograd_keyset, self, target, dim, ignore_index, smoothing, z);
  }();
  const Loss loss{dim, ignore_index, smoothing, z};
  if (self.requires_grad() && at::GradMode::is_enabled()) {
    const auto node = NodeOwner<CrossEntropyNode>::make();
    node->set_next_edges(torch::autograd::collect_next_edges(self, target));
    node->loss = loss;
    node->self = SavedVariable(self, /*is_output=*/false);
    node->target = SavedVariable(target, /*is_output=*/false);
    node->row = SavedVariable(row, /*is_output=*/false);
    torch::autograd::set_history(result, node);
  }
  if (const at::Tensor& tangent = self._fw_grad(/*level=*/0); tangent.defined()) {
    result._set_fw_grad(tangent_of(loss, tangent, self._fw_primal(/*level=*/0), target), /*level=*/0,
                        /*is_inplace_op=*/false);
  }
  return {result, row};
}

// The targets of bytes too, as torch's losses take them; others are int64.
at::Tensor check_target(const char* name, const at::Tensor& self, const at::Tensor& target, int64_t dim) {
  check_map_dtype(name, self.scalar_type(), "the input");
  TORCH_CHECK_NOT_IMPLEMENTED(!target.is_floating_point(), "reduce::", name,
                              ": targets are indices of classes, of int64; got ", target.scalar_type());
  TORCH_CHECK(target.scalar_type() == at::kLong || target.scalar_type() == at::kByte, "reduce::", name,
              ": expected scalar type Long of the target but found ", target.scalar_type());
  TORCH_CHECK(target.device() == self.device(), "reduce::", name, ": the target must be on the input's device, ",
              self.device(), ", got ", target.device());
  c10::SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes.erase(sizes.begin() + dim);
  TORCH_CHECK_VALUE(target.sym_sizes().equals(sizes), "reduce::", name, ": expected a target of shape ",
                    at::SymIntArrayRef(sizes), ", that of the input without its classes; got ", target.sym_sizes());
  return target.to(at::kLong);
}

// The result's type: the one that was asked for, or that of the input. By torch's lists, autocast has cross_entropy in
// float32 on both devices, and log_softmax on CUDA. Losses are computed in that; so logits need no copy.
at::ScalarType type_of(const char* name, const at::Tensor& self, std::optional<at::ScalarType> dtype,
                       std::initializer_list<at::DeviceType> devices) {
  if (dtype) {
    check_map_dtype(name, *dtype, "the result");
    return *dtype;
  }
  const auto casts = [&](at::DeviceType d) { return autocast_is_on(self, d) && at::autocast::is_eligible(self, d); };
  return std::any_of(devices.begin(), devices.end(), casts) ? at::kFloat : self.scalar_type();
}

// As softmax reads them: converted where the result needs a wider compute type.
at::Tensor logits_for(const at::Tensor& self, at::ScalarType type) {
  return type == at::kDouble ? self.to(type) : self;
}

at::Tensor cross_entropy(const at::Tensor& self, const at::Tensor& given, int64_t ignore_index, double smoothing,
                         c10::string_view reduction, double z, std::optional<at::ScalarType> dtype) {
  TORCH_CHECK_VALUE(self.dim() >= 1, "reduce::cross_entropy: the input needs a dim of classes");
  TORCH_CHECK_VALUE(reduction == "mean" || reduction == "sum" || reduction == "none", reduction,
                    " is not a valid value for reduction");
  TORCH_CHECK(0 <= smoothing && smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  const int64_t dim = self.dim() == 1 ? 0 : 1;
  const at::Tensor target = check_target("cross_entropy", self, given, dim);
  const at::ScalarType type = type_of("cross_entropy", self, dtype, {at::kCPU, at::kCUDA});
  const at::Tensor of_rows =
      std::get<0>(losses_op().call(logits_for(self, type), target, dim, ignore_index, smoothing, z));
  if (reduction == "none") return of_rows.to(type);
  if (reduction == "sum") return call(Request{Op::Sum, {}, false, type}, of_rows);
  const Request mean{Op::Mean, {}, false, type, "deterministic", 1, std::nullopt, Role::Mask};
  return call_of_two(mean, of_rows, target != ignore_index);
}

at::Tensor logprobs(const at::Tensor& self, const at::Tensor& given, std::optional<at::ScalarType> dtype,
                    std::optional<int64_t> ignore_index) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  TORCH_CHECK_VALUE(self.dim() >= 1, "reduce::logprobs: the input needs a dim of classes");
  const int64_t dim = self.dim() - 1;
  const at::Tensor target = check_target("logprobs", self, given, dim);
  const at::ScalarType type = type_of("logprobs", self, dtype, {at::kCUDA});
  const at::Tensor losses =
      std::get<0>(losses_op().call(logits_for(self, type), target, dim, ignore_index.value_or(kNone), 0, 0));
  // What is ignored has the loss +0, and so the result.
  return (ignore_index ? at::rsub(losses, 0) : losses.neg()).to(type);
}

void register_losses(torch::Library& m) {
  m.impl("cross_entropy", TORCH_FN(cross_entropy));
  m.impl("logprobs", TORCH_FN(logprobs));
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) {
  m.impl("_cross_entropy", TORCH_FN(differentiable_losses));
  // Called where nothing is to be differentiated.
  m.impl("_logits", torch::CppFunction::makeFallthrough());
  m.impl("_logits_backward", torch::CppFunction::makeFallthrough());
  m.impl("_cross_entropy_backward", torch::CppFunction::makeFallthrough());
}
TORCH_REDUCE_COMPOSITES(register_losses)

}  // namespace torch_reduce
