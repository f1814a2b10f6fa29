// Elements as numbers, where their order may be all that counts.
#pragma once

#include "core/cpu/tree/read.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Number>
Read<Number> scan_reader_of(const Problem& p) {
  if constexpr (O::selects && std::is_same<Number, int64_t>::value) {
    if (p.in == DType::UInt64) return convert<Flipped, Number>;
  }
  return reader_of<Number>(p);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
