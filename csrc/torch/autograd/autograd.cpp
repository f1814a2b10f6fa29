// Autograd in C++, so that programs without Python get gradients too.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

#include "../dispatch/complex.h"
#include "../dispatch/register.h"
#include "../dispatch/two.h"
#include "reduce_backward.h"

namespace torch_reduce {
namespace {

struct Autograd {
  static at::Tensor make(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
    const c10::DispatchKeySet rest = keys & c10::after_autograd_keyset;
    // The common case: no gradient to come and no tangent, as nothing has asked for either, and a kernel of the CPU,
    // which calls no operator that autograd would have to be kept from.
    if (self.unsafeGetTensorImpl()->autograd_meta() == nullptr &&
        rest.highestPriorityTypeId() == c10::DispatchKey::CPU) {
      return redispatch(rest, r, self);
    }
    if (self.is_complex()) return call_complex(r, self);
    at::Tensor result = [&] {
      const at::AutoDispatchBelowADInplaceOrView below;
      return redispatch(rest, r, self);
    }();
    if (at::isFloatingType(result.scalar_type()) && is_differentiated(self)) {
      record(describe(r, self.dim()), self, /*other=*/{}, result);
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

at::Tensor of_two_recorded(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& other,
                           c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                           c10::string_view mode, double correction) {
  at::Tensor result = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return redispatch_of_two(keys & c10::after_autograd_keyset, self, other, op, dim, keepdim, dtype, mode, correction);
  }();
  if (at::isFloatingType(result.scalar_type()) && (is_differentiated(self) || is_differentiated(other))) {
    record(describe(request_of_two(op, dim, keepdim, dtype, mode, correction), self.dim()), self, other, result);
  }
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, Autograd, m) {
  register_kernels<Autograd>(m);
  m.impl("_of_two", TORCH_FN(of_two_recorded));
}

}  // namespace torch_reduce
