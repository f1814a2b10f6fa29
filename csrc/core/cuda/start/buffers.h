// The memory that a call works on.
#pragma once

#include <cstdint>

namespace torch_reduce::cuda {

struct Buffers {
  const void* in;
  void* out;
  void* scratch;                    // plan.scratch_bytes, aligned to 16 bytes; contents do not matter
  const void* other = nullptr;      // a partner's elements
  const int64_t* counts = nullptr;  // with a mask: elements that count, where the output has its results, if asked for
  const void* rows = nullptr;       // of normalised factors: what a norm keeps of each row, in the compute type
};

}  // namespace torch_reduce::cuda
