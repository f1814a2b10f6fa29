// The memory that a call works on.
#pragma once

namespace torch_reduce::cuda {

struct Buffers {
  const void* in;
  void* out;
  void* scratch;  // plan.scratch_bytes, aligned to 16 bytes; contents do not matter
};

}  // namespace torch_reduce::cuda
