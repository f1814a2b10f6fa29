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
  bool dependent;  // programmatic dependent launch: starts when the kernel before allows it
};

template <class Args>
cudaError_t start(void (*kernel)(const Args), const Args& args, const Launch& l) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(l.grid));
  config.blockDim = dim3(static_cast<unsigned>(l.block));
  config.dynamicSmemBytes = static_cast<size_t>(l.shared_bytes);
  config.stream = l.stream;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = l.dependent ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, args);
}

}  // namespace torch_reduce::cuda
