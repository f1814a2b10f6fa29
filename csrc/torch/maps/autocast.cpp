// Autocast, by torch's own lists: on CUDA, shares of exponentials of a lower precision are float32 unless dtype says
// otherwise, and layer_norm and group_norm are computed of float32. rms_norm falls through, as torch's does.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "call.h"

namespace torch_reduce {
namespace {

template <bool kLogarithm>
at::Tensor softmax(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype,
                   const std::optional<at::Tensor>& mask, double scale) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCUDA);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow(kLogarithm ? "reduce::log_softmax" : "reduce::softmax", "")
                             .typed<Softmaxes>();
  if (!dtype && at::autocast::is_eligible(self, at::kCUDA) && self.is_floating_point()) dtype = at::kFloat;
  return op.call(self, dim, dtype, mask, scale);
}

using LayerNorm = at::Tensor(const at::Tensor&, at::SymIntArrayRef, const std::optional<at::Tensor>&,
                             const std::optional<at::Tensor>&, double);
at::Tensor layer_norm(const at::Tensor& self, at::SymIntArrayRef shape, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCUDA);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::layer_norm", "").typed<LayerNorm>();
  const auto cast = [](const auto& t) { return at::autocast::cached_cast(at::kFloat, t, at::kCUDA); };
  return op.call(cast(self), shape, cast(weight), cast(bias), eps);
}

using GroupNorm = at::Tensor(const at::Tensor&, int64_t, const std::optional<at::Tensor>&,
                             const std::optional<at::Tensor>&, double);
at::Tensor group_norm(const at::Tensor& self, int64_t groups, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastCUDA);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::group_norm", "").typed<GroupNorm>();
  const auto cast = [](const auto& t) { return at::autocast::cached_cast(at::kFloat, t, at::kCUDA); };
  return op.call(cast(self), groups, cast(weight), cast(bias), eps);
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, AutocastCUDA, m) {
  m.impl("softmax", TORCH_FN(softmax<false>));
  m.impl("log_softmax", TORCH_FN(softmax<true>));
  m.impl("layer_norm", TORCH_FN(layer_norm));
  m.impl("group_norm", TORCH_FN(group_norm));
}

}  // namespace torch_reduce
