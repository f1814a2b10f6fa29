// Three ways to read n floats, each element once, a float at a time. All that differs is which thread reads which one.
//
// A warp's load is served in sectors of 32 bytes. Coalesced: 32 neighbours are 4 sectors, all of them used. Misaligned
// by one element: 5 sectors, of which the fifth is the next warp's first. Strided: neighbouring threads are S elements
// apart, so a warp touches 8 sectors (S = 2) or 32 (S = 8 and more) and uses half or an eighth of each. The rest of
// them is read again by other blocks later, from the L2 if the input fits there, else from memory.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kFactor = 8;

__device__ float warp_sum(float v) {  // lane 0 has the result
  for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
  return v;
}

// The block's sum, added to the result, so that nothing read is dropped.
__device__ void add_block(float* out, float v) {
  __shared__ float warps[kThreads / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  v = warp_sum(threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

// The input as a matrix of `rows` rows and `Stride` columns. Tiles are pieces of a column, numbered down one column
// after the other; resident blocks take them in turn.
template <int Stride>
__global__ void read(const float* in, float* out, int n, int rows) {
  const int tile = kThreads * kFactor, tiles = (rows + tile - 1) / tile;
  float sum = 0;
  for (int which = blockIdx.x; which < tiles * Stride; which += gridDim.x) {
    const int column = which / tiles, first = which % tiles * tile + threadIdx.x;
#pragma unroll
    for (int k = 0; k < kFactor; ++k) {
      const int row = first + k * kThreads;
      const int i = row * Stride + column;
      sum += row < rows && i < n ? in[i] : 0;
    }
  }
  add_block(out, sum);
}

template <int Stride>
cudaError_t launch(const float* in, float* out, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount) * 2048 / kThreads;
  read<Stride><<<blocks, kThreads, 0, stream>>>(in, out, n, (n + Stride - 1) / Stride);
  return cudaGetLastError();
}

}  // namespace

LADDER_OCCUPANCY(read_coalesced, kThreads, read<1>)
LADDER_OCCUPANCY(read_misaligned, kThreads, read<1>)
LADDER_OCCUPANCY(read_strided_2, kThreads, read<2>)
LADDER_OCCUPANCY(read_strided_8, kThreads, read<8>)
LADDER_OCCUPANCY(read_strided_32, kThreads, read<32>)

LADDER_API cudaError_t ladder_read_coalesced(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<1>(in, out, n, stream);
}

// Reads n - 1 elements: all but the first.
LADDER_API cudaError_t ladder_read_misaligned(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return n > 1 ? launch<1>(in + 1, out, n - 1, stream) : cudaMemsetAsync(out, 0, sizeof(float), stream);
}

LADDER_API cudaError_t ladder_read_strided_2(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<2>(in, out, n, stream);
}

LADDER_API cudaError_t ladder_read_strided_8(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<8>(in, out, n, stream);
}

LADDER_API cudaError_t ladder_read_strided_32(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<32>(in, out, n, stream);
}
