// The first that works for any n, with as many blocks as it takes: every thread adds its element to the one result by
// atomicAdd.
//
// All threads of the GPU run, and all of them queue up at one address: additions to the same address happen one after
// the other. So it is the CPU's loop again, in an order that nobody chose; the total differs from run to run.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void atomic_each(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}

}  // namespace

LADDER_OCCUPANCY(atomic_each, kThreads, atomic_each)

LADDER_API cudaError_t ladder_atomic_each(const float* in, float* out, float*, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  atomic_each<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, n);
  return cudaGetLastError();
}
