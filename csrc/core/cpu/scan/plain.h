// Products that need no exponent of their own, as words.
#pragma once

#include "core/cpu/scan/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc>
constexpr bool multiplies_plain = has_vectors<O, Acc> && std::is_same<Acc, order::Scaled<word_of<Acc>>>::value;

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
