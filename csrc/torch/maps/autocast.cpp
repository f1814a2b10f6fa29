// Autocast of softmax, by torch's own list: on CUDA, shares of exponentials of a lower precision are float32 unless
// dtype says otherwise.
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

}  // namespace

TORCH_LIBRARY_IMPL(reduce, AutocastCUDA, m) {
  m.impl("softmax", TORCH_FN(softmax<false>));
  m.impl("log_softmax", TORCH_FN(softmax<true>));
}

}  // namespace torch_reduce
