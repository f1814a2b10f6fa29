// The type of a result, by those of the input, of dtype= and of out=.
#pragma once

#include "request.h"

namespace torch_reduce {

// RuntimeError and NotImplementedError as check() has them.
at::ScalarType result_type(const Request& request, at::ScalarType in, std::optional<at::ScalarType> out);

bool is_float8(at::ScalarType type);

// The operators of which it is true, in words.
std::string names_with(bool (*is_true)(Op));

}  // namespace torch_reduce
