// What a device is, and whether the code that the driver loaded for it waits for the kernel before. That is asked once
// a device, as the answer cannot change.
#include <atomic>

#include "core/cuda/launch/launch.h"

namespace torch_reduce::cuda {
namespace {

__global__ void any_kernel() {}

}  // namespace

bool has_dependent_launch(int device) {
  enum : signed char { kUnknown, kNo, kYes };
  static std::atomic<signed char> known[64];
  const bool kept = device >= 0 && device < 64;
  const signed char before = kept ? known[device].load(std::memory_order_relaxed) : static_cast<signed char>(kUnknown);
  if (before != kUnknown) return before == kYes;
  cudaFuncAttributes loaded{};
  const cudaError_t error = cudaFuncGetAttributes(&loaded, any_kernel);
  if (error != cudaSuccess) {  // the launch that follows says what is wrong
    static_cast<void>(cudaGetLastError());
    return false;
  }
  const bool has = loaded.ptxVersion >= 90;
  if (kept) known[device].store(has ? kYes : kNo, std::memory_order_relaxed);
  return has;
}

cudaError_t describe_current_gpu(int device, Gpu& gpu) {
  int sms = 0, major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error != cudaSuccess) return error;
  gpu = make_gpu(sms, major, minor);
  if (!has_dependent_launch(device)) gpu.cluster_ctas = 1;  // nor has earlier code clusters
  return cudaSuccess;
}

}  // namespace torch_reduce::cuda
