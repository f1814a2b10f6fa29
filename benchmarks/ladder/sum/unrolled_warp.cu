// Changes against first_add: once 64 values are left, one warp finishes without barriers of the whole block, its six
// steps written out. The other warps retire early.
//
// The classic version of this rung declared the memory volatile and trusted the 32 threads of a warp to move in step.
// Since Volta they need not (independent thread scheduling), and that version is a race. So each step here reads, waits
// for the warp, writes, and waits again; __syncwarp costs far less than __syncthreads.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;

// One step of the tree within the first warp.
__device__ float add_from(float* shared, float v, int distance) {
  v += shared[threadIdx.x + distance];
  __syncwarp();  // all have read before anyone writes
  shared[threadIdx.x] = v;
  __syncwarp();  // and all have written before the next step reads
  return v;
}

__global__ void unrolled_warp(const float* in, float* out, int n) {
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * (2 * kThreads) + t;
  shared[t] = (i < n ? in[i] : 0) + (i + kThreads < n ? in[i + kThreads] : 0);
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (t < stride) shared[t] += shared[t + stride];
    __syncthreads();
  }
  if (t >= 32) return;
  float v = shared[t];
  v = add_from(shared, v, 32);
  v = add_from(shared, v, 16);
  v = add_from(shared, v, 8);
  v = add_from(shared, v, 4);
  v = add_from(shared, v, 2);
  v = add_from(shared, v, 1);
  if (t == 0) out[blockIdx.x] = v;
}

}  // namespace

LADDER_OCCUPANCY(unrolled_warp, kThreads, unrolled_warp)

LADDER_API cudaError_t ladder_unrolled_warp(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(unrolled_warp, kThreads, 2 * kThreads, in, out, scratch, n, stream);
}
