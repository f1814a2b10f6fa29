// Changes against unrolled_warp: the block's size is a template parameter, and the steps that are left are written out
// too. `if constexpr` drops those that a smaller block does not have, so no loop, no counter and no test remain.
//
// That saves instructions. The template is not what does it: the rungs below ask for blockDim.x, which is known only
// when the kernel runs, and a loop up to a constant would be unrolled by the compiler without our help.
#include "../rung.h"

namespace {

// One step of the tree within the first warp.
__device__ float add_from(float* shared, float v, int distance) {
  v += shared[threadIdx.x + distance];
  __syncwarp();  // all have read before anyone writes
  shared[threadIdx.x] = v;
  __syncwarp();  // and all have written before the next step reads
  return v;
}

template <int Threads>
__global__ void unrolled_all(const float* in, float* out, int n) {
  __shared__ float shared[Threads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * (2 * Threads) + t;
  shared[t] = (i < n ? in[i] : 0) + (i + Threads < n ? in[i + Threads] : 0);
  __syncthreads();
  if constexpr (Threads >= 1024) {
    if (t < 512) shared[t] += shared[t + 512];
    __syncthreads();
  }
  if constexpr (Threads >= 512) {
    if (t < 256) shared[t] += shared[t + 256];
    __syncthreads();
  }
  if constexpr (Threads >= 256) {
    if (t < 128) shared[t] += shared[t + 128];
    __syncthreads();
  }
  if constexpr (Threads >= 128) {
    if (t < 64) shared[t] += shared[t + 64];
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

constexpr int kThreads = 256;

}  // namespace

LADDER_OCCUPANCY(unrolled_all, kThreads, unrolled_all<kThreads>)

LADDER_API cudaError_t ladder_unrolled_all(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  return launch_until_one(unrolled_all<kThreads>, kThreads, 2 * kThreads, in, out, scratch, n, stream);
}
