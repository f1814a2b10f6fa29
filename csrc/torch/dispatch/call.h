// The operators through torch's dispatcher.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>

#include "../schema/request.h"

namespace torch_reduce {

// Of Signature::typed and Signature::plain, which takes no dtype and no mode: those of a request are dropped.
using Typed = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                         c10::string_view);
using TypedOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                             c10::string_view, at::Tensor&);
using Plain = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool);
using PlainOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, at::Tensor&);

// From the top: autocast, autograd, vmap and whatever else is in force.
at::Tensor call(const Request& request, const at::Tensor& self);

// From within a kernel to the next one of `keys`, which the kernel was given and has cut down.
at::Tensor redispatch(c10::DispatchKeySet keys, const Request& request, const at::Tensor& self);
at::Tensor& redispatch(c10::DispatchKeySet keys, const Request& request, const at::Tensor& self, at::Tensor& out);

}  // namespace torch_reduce
