// The transpose of an N x N matrix by a single thread: a program for a CPU, run on a GPU.
//
// One thread of some 270,000 works, and it waits for memory most of the time.
#include <cmath>

#include "../rung.h"

namespace {

__global__ void transpose_serial(const float* in, float* out, int size) {
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) out[column * size + row] = in[row * size + column];
  }
}

}  // namespace

LADDER_OCCUPANCY(transpose_serial, 1, transpose_serial)

LADDER_API cudaError_t ladder_transpose_serial(const float* in, float* out, float*, int n, cudaStream_t stream) {
  transpose_serial<<<1, 1, 0, stream>>>(in, out, static_cast<int>(std::lround(std::sqrt(n))));
  return cudaGetLastError();
}
