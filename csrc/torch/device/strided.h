// What CPU and CUDA share: check, allocate or accept the output, describe, run.
#pragma once

#include "../dispatch/complex.h"
#include "../dispatch/register.h"

namespace torch_reduce {

// Device has
//   static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& like);
//   static void permit(const Request&, const Checked&, const at::Tensor& self);  // refuses before anything changes
//   static void run(const Request&, const Checked&, const at::Tensor& self, const at::Tensor& out);
template <class Device>
struct Strided {
  static at::Tensor make(c10::DispatchKeySet, const Request& r, const at::Tensor& self) {
    if (self.is_complex()) return call_complex(r, self);
    const Checked checked = check(r, self);
    Device::permit(r, checked, self);
    const auto sizes = result_sizes(r, checked, self.sizes());
    at::Tensor out = Device::empty(sizes, checked.type, self);
    if (is_pair(r.op)) out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, result_strides<int64_t>(r, sizes));
    Device::run(r, checked, as_read(checked, self), out);
    return out;
  }

  static at::Tensor& into(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
    const Checked checked = check(r, self, out.scalar_type());
    const auto sizes = result_sizes(r, checked, self.sym_sizes());
    const bool resizes = check_out(r, checked, self, sizes, out);
    check_no_overlap(r, self, out, resizes);
    if (self.is_complex()) {
      const auto use = [&](const Request& real, const at::Tensor& numbers) {
        Device::permit(real, check(real, numbers), numbers);
        if (resizes) out.resize__symint(sizes);
        at::Tensor parts = parts_of_out(r, real, out);
        into(keys, real, numbers, parts);
      };
      of_parts(r, checked, self, use, magnitudes);
      return out;
    }
    Device::permit(r, checked, self);
    if (resizes) out.resize__symint(sizes);
    Device::run(r, checked, as_read(checked, self), out);
    return out;
  }
};

}  // namespace torch_reduce
