// The operators by arguments that Inductor can write into C++, as functionalisation leaves them: dims are a list, and
// the operator and the output type are strings. A package of AOTInductor numbers types by another enumeration than the
// one that its loader reads (torch/_export/serde/schema.py, c10/core/ScalarType.h), the loader takes an empty list for
// an absent one, and the C++ wrapper has no list that may be absent (custom_op_wrapper).
#pragma once

#include "../schema/request.h"

namespace torch_reduce {

// reduce::_by_name, from the top, and the request that one of its calls makes.
at::Tensor call_by_name(const Request& request, const at::Tensor& self);
Request request_by_name(c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                        c10::string_view mode, double correction);

at::Tensor exact_accumulate_by_name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim);
at::Tensor exact_round_by_name(const at::Tensor& acc, at::ScalarType dtype, c10::SymInt divisor);

}  // namespace torch_reduce
