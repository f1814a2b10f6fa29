// The operators by arguments that Inductor can write into C++, as functionalisation leaves them: dims are a list, and
// the operator and the output type are strings. A package of AOTInductor numbers types by another enumeration than the
// one that its loader reads (torch/_export/serde/schema.py, c10/core/ScalarType.h), the loader takes an empty list for
// an absent one, and the C++ wrapper has no list that may be absent (custom_op_wrapper).
#pragma once

#include <ATen/core/DimVector.h>

#include "../schema/request.h"

namespace torch_reduce {

// reduce::_by_name, from the top, and the request that one of its calls makes.
at::Tensor call_by_name(const Request& request, const at::Tensor& self);
at::Tensor redispatch_by_name(c10::DispatchKeySet keys, const Request& request, const at::Tensor& self);
Request request_by_name(c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                        c10::string_view mode, double correction, Role role = Role::None);

// Arguments as they take them: at least one dim, as AOTInductor's loader takes an empty list for an absent one (a
// scalar has a dim 0, as in torch); and a type's name.
at::DimVector list_of(at::OptionalIntArrayRef dim, int64_t ndim);
std::string name_of(at::ScalarType type);

at::Tensor exact_accumulate_by_name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim);
at::Tensor exact_round_by_name(const at::Tensor& acc, at::ScalarType dtype, c10::SymInt divisor);

}  // namespace torch_reduce
