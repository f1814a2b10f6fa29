// Changes against transpose_serial: a thread for each row.
//
// N threads in place of one. But neighbouring threads read a whole row apart, so the reads of a warp lie in 32 places
// (its writes are coalesced), and N threads are far too few for a GPU that holds hundreds of thousands.
#include <cmath>

#include "../rung.h"

namespace {

constexpr int kThreads = 256;

__global__ void transpose_rows(const float* in, float* out, int size) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= size) return;
  for (int column = 0; column < size; ++column) out[column * size + row] = in[row * size + column];
}

}  // namespace

LADDER_OCCUPANCY(transpose_rows, kThreads, transpose_rows)

LADDER_API cudaError_t ladder_transpose_rows(const float* in, float* out, float*, int n, cudaStream_t stream) {
  const int size = static_cast<int>(std::lround(std::sqrt(n)));
  transpose_rows<<<(size + kThreads - 1) / kThreads, kThreads, 0, stream>>>(in, out, size);
  return cudaGetLastError();
}
