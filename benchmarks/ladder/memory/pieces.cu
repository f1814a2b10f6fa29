// Data in host memory, cut into pieces; each is copied to the GPU, worked on, and copied back. One after the other in
// one stream, against three streams in turn. `in` and `out` are pinned host memory, `scratch` holds n floats on the
// GPU.
//
// The GPU has an engine for copies in, one for copies out, and its SMs. Work in one stream goes in order, so two of the
// three always wait. With pieces in several streams, one piece is copied in while another is worked on and a third is
// copied out: at best the time of the longest of the three, plus a piece's way in and out. The memory must be pinned.
#include "../rung.h"

namespace {

constexpr int kThreads = 256;
constexpr int kPieces = 16;
constexpr int kStreams = 3;
constexpr int kSteps = 1023;

// Long enough to compare with the copies. An odd number of steps leaves 1 - v, exactly for small integers.
__global__ void work(float* data, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  float v = data[i];
  for (int k = 0; k < kSteps; ++k) v = 1 - v;
  data[i] = v;
}

void one_piece(const float* in, float* out, float* device, int n, cudaStream_t stream) {
  cudaMemcpyAsync(device, in, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  work<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(device, n);
  cudaMemcpyAsync(out, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
}

// Piece k of n elements goes to the stream k % count.
void all_pieces(const float* in, float* out, float* device, int n, const cudaStream_t* streams, int count) {
  const int length = (n + kPieces - 1) / kPieces;
  for (int k = 0; k < kPieces; ++k) {
    const int first = k * length, left = n - first;
    if (left <= 0) break;
    one_piece(in + first, out + first, device + first, left < length ? left : length, streams[k % count]);
  }
}

}  // namespace

LADDER_API cudaError_t ladder_pieces_serial(const float* in, float* out, float* scratch, int n, cudaStream_t stream) {
  all_pieces(in, out, scratch, n, &stream, 1);
  return cudaGetLastError();
}

LADDER_API cudaError_t ladder_pieces_overlapped(const float* in, float* out, float* scratch, int n,
                                                cudaStream_t stream) {
  // The streams start after what `stream` holds, and it goes on after them.
  cudaStream_t streams[kStreams];
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, stream);
  for (cudaStream_t& s : streams) {
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamWaitEvent(s, event);
  }
  all_pieces(in, out, scratch, n, streams, kStreams);
  for (cudaStream_t s : streams) {
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(stream, event);
    cudaStreamDestroy(s);  // once its work is done
  }
  cudaEventDestroy(event);
  return cudaGetLastError();
}
