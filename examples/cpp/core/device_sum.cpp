// Sums the rows of a matrix on a GPU without PyTorch: asks for the workspace, launches, and compares with the host,
// which has the same bits.
#include <cuda_runtime.h>
#include <torch_reduce/core.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace core = torch_reduce::core;

int main() {
  constexpr int64_t kRows = 3, kColumns = 5'000'011;
  std::vector<float> numbers(kRows * kColumns);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>((i * 2654435761u) % 1000003) / 997 - 500;
  float *in, *out, on_gpu[kRows], on_host[kRows];
  if (cudaMalloc(&in, numbers.size() * sizeof(float)) != cudaSuccess) {
    std::printf("no GPU\n");
    return 77;
  }
  cudaMalloc(&out, sizeof(on_gpu));
  cudaMemcpy(in, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice);

  const int64_t sizes[] = {kRows, kColumns};
  const int dims[] = {1};
  core::Reduction sum;
  sum.ndim = 2;
  sum.sizes = sizes;
  sum.num_dims = 1;
  sum.dims = dims;

  size_t bytes = 0;
  void* workspace = nullptr;
  core::Status status = core::reduce_on_cuda(nullptr, bytes, sum, nullptr, nullptr, nullptr);
  if (status == core::Status::success) {
    cudaMalloc(&workspace, bytes);
    status = core::reduce_on_cuda(workspace, bytes, sum, in, out, /*stream=*/nullptr);
  }
  if (status == core::Status::success) status = core::reduce_on_host(sum, numbers.data(), on_host);
  if (status != core::Status::success) {
    std::printf("%s\n", core::name(status));
    return 1;
  }
  cudaMemcpy(on_gpu, out, sizeof(on_gpu), cudaMemcpyDeviceToHost);
  const bool same = std::memcmp(on_gpu, on_host, sizeof(on_gpu)) == 0;
  std::printf("%zu bytes of workspace, first row %.9g, host and GPU %s\n", bytes, on_gpu[0], same ? "equal" : "DIFFER");
  return same ? 0 : 1;
}
