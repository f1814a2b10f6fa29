// Changes against transpose_rows: a thread for each element.
//
// All of the GPU works, and the reads are coalesced. The writes are not: a warp's 32 results go to 32 rows, each into a
// sector of its own.
#include <cmath>

#include "../rung.h"

namespace {

constexpr int kSide = 32;
constexpr int kRows = 8;  // a block is 32 x 8 threads

__global__ void transpose_elements(const float* in, float* out, int size) {
  const int column = blockIdx.x * kSide + threadIdx.x;
  const int row = blockIdx.y * kRows + threadIdx.y;
  if (row < size && column < size) out[column * size + row] = in[row * size + column];
}

}  // namespace

LADDER_OCCUPANCY(transpose_elements, kSide* kRows, transpose_elements)

LADDER_API cudaError_t ladder_transpose_elements(const float* in, float* out, float*, int n, cudaStream_t stream) {
  const int size = static_cast<int>(std::lround(std::sqrt(n)));
  const dim3 grid((size + kSide - 1) / kSide, (size + kRows - 1) / kRows);
  transpose_elements<<<grid, dim3(kSide, kRows), 0, stream>>>(in, out, size);
  return cudaGetLastError();
}
