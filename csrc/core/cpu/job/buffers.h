// The memory that a call works on.
#pragma once

#include <cstdint>

namespace torch_reduce::cpu {

struct Buffers {
  const void* in;
  void* out;
  const void* other = nullptr;      // a partner's elements
  const int64_t* counts = nullptr;  // with a mask: elements that count, where the output has its results, if asked for
  const void* rows = nullptr;       // of normalised factors: what a norm keeps of each row, in the compute type
};

}  // namespace torch_reduce::cpu
