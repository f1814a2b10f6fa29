// Changes against unrolled_all: only as many blocks as the GPU holds at the same time, and each thread walks through
// the input with the whole grid's width as its stride, adding in a register.
//
// The tree and its barriers happen once for each of about a thousand blocks, whatever n is, in place of once for every
// 512 elements, and a second launch of one block sums what they leave. The neighbours of a warp still read neighbouring
// elements.
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
__global__ void grid_stride(const float* in, float* out, int n) {
  __shared__ float shared[Threads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * Threads + t; i < n; i += gridDim.x * Threads) sum += in[i];
  shared[t] = sum;
  __syncthreads();
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

LADDER_OCCUPANCY(grid_stride, kThreads, grid_stride<kThreads>)

LADDER_API cudaError_t ladder_grid_stride(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  const int resident = device_attribute(cudaDevAttrMultiProcessorCount) * ladder_grid_stride_blocks_per_sm();
  const int needed = (n + kThreads - 1) / kThreads;
  const int blocks = needed < resident ? needed : resident;
  grid_stride<kThreads><<<blocks, kThreads, 0, stream>>>(in, scratch, n);
  grid_stride<kThreads><<<1, kThreads, 0, stream>>>(scratch, out, blocks);
  return cudaGetLastError();
}
