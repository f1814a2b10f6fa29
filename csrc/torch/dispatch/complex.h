// Complex tensors: an element is two real numbers, re and im, which are one more dim, the last, of a view. What takes
// complex elements reduces that view, as torch sees it, or its norms over that dim: its derivatives, vmap and whatever
// else are those of real tensors.
#pragma once

#include <ATen/core/DimVector.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include "call.h"

namespace torch_reduce {

inline at::Tensor magnitudes(const at::Tensor& parts) { return call({Op::Norm2, at::IntArrayRef{-1}}, parts); }

// What `request`, which fits `self`, is as a reduction of real numbers: use(request, numbers), which are the parts of
// the elements, a view, or get_magnitudes(parts).
template <class Use, class GetMagnitudes>
auto of_parts(const Request& r, const Checked& checked, const at::Tensor& self, Use use, GetMagnitudes get_magnitudes) {
  const bool together = parts_of(r) == Parts::Together;
  const int64_t ndim = self.dim();
  at::Tensor numbers = at::view_as_real(self.resolve_conj());
  if (parts_of(r) == Parts::Magnitude) numbers = get_magnitudes(numbers);
  at::DimVector dims;
  for (int64_t d = 0; d < ndim; ++d) {
    if (checked.mask.reduced[d]) dims.push_back(d);
  }
  if (together) dims.push_back(ndim);
  if (dims.empty()) {  // none would mean all: one element is a row of one
    numbers = numbers.unsqueeze(0);
    dims.push_back(0);
  }
  Request real = r;
  real.dim = dims;
  real.keepdim = r.keepdim && ndim > 0;
  real.dtype = at::toRealValueType(checked.type);
  return use(real, numbers);
}

// The result, by operators that are differentiable; `reduce` calls that of real numbers from the top.
template <class Reduce>
at::Tensor call_complex(const Request& r, const at::Tensor& self, Reduce reduce) {
  const auto use = [&](const Request& real, const at::Tensor& numbers) {
    const at::Tensor result = reduce(real, numbers);
    if (parts_of(r) == Parts::Apart) return at::view_as_complex(result);
    return real.keepdim && parts_of(r) == Parts::Together ? result.squeeze(-1) : result;
  };
  return of_parts(r, check(r, self), self, use, magnitudes);
}
inline at::Tensor call_complex(const Request& r, const at::Tensor& self) { return call_complex(r, self, call); }

// The tensor that the reduction of real numbers writes, where the result is `out`.
inline at::Tensor parts_of_out(const Request& r, const Request& real, const at::Tensor& out) {
  if (parts_of(r) == Parts::Apart) return at::view_as_real(out);
  return real.keepdim && parts_of(r) == Parts::Together ? out.unsqueeze(-1) : out;
}

}  // namespace torch_reduce
