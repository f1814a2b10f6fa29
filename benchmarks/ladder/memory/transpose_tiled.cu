// Changes against transpose_elements: a block carries a square tile through shared memory. It reads the tile row by row
// and writes it row by row, both coalesced; the transposing happens in between, where jumps cost little.
//
// The tile's side is 8, 16 or 32. A row of 8 floats fills a sector and no more; at 32 a warp reads and writes whole
// lines of 128 bytes. But a warp that takes a column of a 32 x 32 tile finds all of its 32 words in one bank.
#include <cmath>

#include "../rung.h"

namespace {

template <int Side>
__global__ void transpose_tiled(const float* in, float* out, int size) {
  __shared__ float tile[Side][Side];
  const int x = threadIdx.x, y = threadIdx.y;
  const int left = blockIdx.x * Side, top = blockIdx.y * Side;
  if (top + y < size && left + x < size) tile[y][x] = in[(top + y) * size + left + x];
  __syncthreads();
  if (left + y < size && top + x < size) out[(left + y) * size + top + x] = tile[x][y];
}

template <int Side>
cudaError_t launch(const float* in, float* out, int n, cudaStream_t stream) {
  const int size = static_cast<int>(std::lround(std::sqrt(n))), blocks = (size + Side - 1) / Side;
  transpose_tiled<Side><<<dim3(blocks, blocks), dim3(Side, Side), 0, stream>>>(in, out, size);
  return cudaGetLastError();
}

}  // namespace

LADDER_OCCUPANCY(transpose_tiled_8, 8 * 8, transpose_tiled<8>)
LADDER_OCCUPANCY(transpose_tiled_16, 16 * 16, transpose_tiled<16>)
LADDER_OCCUPANCY(transpose_tiled_32, 32 * 32, transpose_tiled<32>)

LADDER_API cudaError_t ladder_transpose_tiled_8(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<8>(in, out, n, stream);
}

LADDER_API cudaError_t ladder_transpose_tiled_16(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<16>(in, out, n, stream);
}

LADDER_API cudaError_t ladder_transpose_tiled_32(const float* in, float* out, float*, int n, cudaStream_t stream) {
  return launch<32>(in, out, n, stream);
}
