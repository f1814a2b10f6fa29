// Products that are read 16 bytes at a time.
#pragma once

#include <optional>

#include "core/plan/gpu/plan.h"

namespace torch_reduce::exact {

constexpr int64_t kMostNumbered = int64_t{1} << 30;  // outputs that 32 bits number

// Whether rows begin at multiples of 16 bytes, those of both tensors where they are side by side.
bool rows_are_aligned(const Problem& problem);

// Their family, of rows; none where the loads of two tensors do not meet, as single elements are read then.
std::optional<Family> vectors_of_products(const Problem& problem, const Constraint& constraint);

}  // namespace torch_reduce::exact
