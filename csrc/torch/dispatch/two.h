// Operators of two tensors: all of them are one operator of the dispatcher, reduce::_of_two, by arguments that Inductor
// can write into C++ (by_name.h). It takes the tensors in one shape.
#pragma once

#include "../schema/request.h"

namespace torch_reduce {

// From the top.
at::Tensor call_of_two(const Request& request, const at::Tensor& self, const at::Tensor& other);

// From within a kernel to the next one of `keys`.
at::Tensor redispatch_of_two(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& other,
                             c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                             c10::string_view mode, double correction);

// The request that one of its calls makes. Its role is known by the operator.
Request request_of_two(c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                       c10::string_view mode, double correction);

// What the second tensor is to an operator: ValueError if it takes none.
Role role_of(const Request& request);

// check(), and that `other` fits: RuntimeError if not.
Checked check_two(const Request& request, const at::Tensor& self, const at::Tensor& other);

// float8, of which there are no kernels of two tensors, in the type that it is computed in: the same bits.
at::Tensor without_float8(const at::Tensor& t);

// How many elements count of each output, as int64.
at::Tensor counts_of(const Request& request, const at::Tensor& mask);

}  // namespace torch_reduce
