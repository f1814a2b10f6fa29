// Changes against transpose_tiled_32: the tile's rows are 33 words long, and the 33rd is never used.
//
// Words of one column then lie 33 apart, in 32 different banks, so a warp reads a column as fast as a row.
#include <cmath>

#include "../rung.h"

namespace {

constexpr int kSide = 32;

__global__ void transpose_padded(const float* in, float* out, int size) {
  __shared__ float tile[kSide][kSide + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int left = blockIdx.x * kSide, top = blockIdx.y * kSide;
  if (top + y < size && left + x < size) tile[y][x] = in[(top + y) * size + left + x];
  __syncthreads();
  if (left + y < size && top + x < size) out[(left + y) * size + top + x] = tile[x][y];
}

}  // namespace

LADDER_OCCUPANCY(transpose_padded, kSide* kSide, transpose_padded)

LADDER_API cudaError_t ladder_transpose_padded(const float* in, float* out, float*, int n, cudaStream_t stream) {
  const int size = static_cast<int>(std::lround(std::sqrt(n))), blocks = (size + kSide - 1) / kSide;
  transpose_padded<<<dim3(blocks, blocks), dim3(kSide, kSide), 0, stream>>>(in, out, size);
  return cudaGetLastError();
}
