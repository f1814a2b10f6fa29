// From host memory to the GPU: the same call on pageable and on pinned memory. `in` is host memory here.
//
// The copy engine reads physical memory, so what it reads must not be paged out meanwhile. Pinned memory cannot be: the
// engine reads it directly, while the host goes on. Pageable memory is first copied by the CPU, piece by piece, into a
// pinned buffer of the driver's, and the call comes back only after that.
#include "../rung.h"

LADDER_API cudaError_t ladder_copy_pageable(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return cudaMemcpyAsync(out, in, n * sizeof(float), cudaMemcpyHostToDevice, stream);
}

LADDER_API cudaError_t ladder_copy_pinned(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return cudaMemcpyAsync(out, in, n * sizeof(float), cudaMemcpyHostToDevice, stream);
}
