// A sum in the canonical order by a kernel of one's own, without PyTorch and without a library: up to 256 blocks share
// the row, each an aligned power of two of chunks, and a second kernel combines what they found. The host computes the
// same bits by the same header.
#include <cstdio>
#include <torch_reduce/device/order.cuh>
#include <vector>

namespace order = torch_reduce::order;
using Storage = order::BlockStorage<float, 256>;

__global__ void pieces(const float* x, int64_t n, int64_t piece, float* partial) {
  __shared__ Storage storage;
  const int64_t first = blockIdx.x * piece, count = min(piece, n - first);
  const float sum = order::block_reduce<order::Sum>(count, [&](int64_t i) { return x[first + i]; }, storage);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void combine(const float* partial, int64_t count, int64_t n, float* out) {
  const float sum = order::warp_reduce<order::Sum>(count, [&](int64_t i) { return partial[i]; });
  if (threadIdx.x == 0) *out = order::Sum::finish(sum, n);
}

float on_host(const std::vector<float>& x) {
  order::Counter<order::Sum, float, 30> chunks;
  for (size_t chunk = 0; chunk < x.size(); chunk += order::kChunk) {
    float leaf[order::kLeaves];
    for (auto& l : leaf) l = order::Sum::identity<float>();
    for (size_t i = 0; i < order::kChunk && chunk + i < x.size(); ++i) {
      float& l = leaf[i % order::kLeaves];
      l = order::Sum::combine(l, x[chunk + i]);
    }
    chunks.push(order::tree<order::Sum>(leaf));
  }
  return order::Sum::finish(chunks.result(), static_cast<int64_t>(x.size()));
}

int main() {
  const int64_t n = 10'000'019;
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>((i * 2654435761u) % 1000003) / 997 - 500;
  int64_t piece = order::kChunk;
  while ((n + piece - 1) / piece > 256) piece *= 2;
  const auto blocks = static_cast<unsigned>((n + piece - 1) / piece);

  float *device, *partial, *out, result = 0;
  if (cudaMalloc(&device, n * sizeof(float)) != cudaSuccess) return std::printf("no GPU\n"), 77;
  cudaMalloc(&partial, blocks * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  pieces<<<blocks, 256>>>(device, n, piece, partial);
  combine<<<1, order::kWarp>>>(partial, blocks, n, out);
  cudaMemcpy(&result, out, sizeof(float), cudaMemcpyDeviceToHost);
  const float expected = on_host(x);
  std::printf("GPU %.9g, host %.9g: %s\n", result, expected, result == expected ? "equal" : "NOT EQUAL");
  return result == expected ? 0 : 1;
}
