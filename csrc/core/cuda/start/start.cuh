// A kernel's launch. Its error is the call's own: the runtime's last error, which may be of another call, is not asked.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace torch_reduce::cuda {

struct Launch {
  int64_t grid;
  int block;
  int64_t shared_bytes;
  cudaStream_t stream;
  bool dependent;     // programmatic dependent launch: starts when the kernel before allows it
  int cluster = 1;    // CTAs of a cluster
  int carveout = -1;  // for shared memory, in percent of what an SM has; -1: as the driver likes
  // The most shared memory of any launch of the kernel on this GPU, where that is more than every kernel may have, else
  // 0. It is kept with the kernel, and so the same in every call: another thread's may come in between.
  int64_t most_shared_bytes = 0;
};

template <class Args>
cudaError_t start(void (*kernel)(const Args), const Args& args, const Launch& l) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(l.grid));
  config.blockDim = dim3(static_cast<unsigned>(l.block));
  config.dynamicSmemBytes = static_cast<size_t>(l.shared_bytes);
  config.stream = l.stream;
  constexpr int64_t kSharedOfAll = 44 << 10;  // 48 KiB with static memory; more needs the kernel's consent
  if (l.shared_bytes > kSharedOfAll && l.most_shared_bytes > 0) {
    const cudaError_t status =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(l.most_shared_bytes));
    if (status != cudaSuccess) return status;
  }
  cudaLaunchAttribute attributes[3]{};
  config.attrs = attributes;
  if (l.dependent) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (l.cluster > 1) {
    constexpr int kPortable = 8;  // larger ones need the kernel's consent
    if (l.cluster > kPortable) {
      const cudaError_t status = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                      cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (status != cudaSuccess) return status;
    }
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(l.cluster);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
#if CUDART_VERSION >= 12050
  if (l.carveout >= 0) {
    cudaLaunchAttribute& carveout = attributes[config.numAttrs++];
    carveout.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    carveout.val.sharedMemCarveout = static_cast<unsigned>(l.carveout);
  }
#endif
  return cudaLaunchKernelEx(&config, kernel, args);
}

}  // namespace torch_reduce::cuda
