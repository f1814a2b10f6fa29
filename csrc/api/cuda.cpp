// Device memory: check, plan, and launch into the caller's workspace.
#include <algorithm>
#include <stdexcept>

#include "core/cuda/launch/launch.h"
#include "describe.h"

namespace torch_reduce::core {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

Status said(cudaError_t error) {
  if (error == cudaSuccess) return Status::success;
  last_error = error;
  return Status::cuda_error;
}

// Which GPU is current, and what plans want to know of it.
struct Device {
  int number = 0, reads_pageable = 0;
  Gpu gpu;

  cudaError_t ask() {
    cudaError_t error = cudaGetDevice(&number);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&reads_pageable, cudaDevAttrPageableMemoryAccess, number);
    return error == cudaSuccess ? cuda::describe_current_gpu(number, gpu) : error;
  }

  Status check(const void* memory) const {
    if (memory == nullptr) return Status::success;  // of no element
    cudaPointerAttributes found{};
    if (const cudaError_t error = cudaPointerGetAttributes(&found, memory); error != cudaSuccess) return said(error);
    const bool reads = found.type == cudaMemoryTypeUnregistered ? reads_pageable != 0
                       : found.type == cudaMemoryTypeDevice     ? found.device == number
                                                                : true;  // managed and pinned memory
    return reads ? Status::success : Status::wrong_device;
  }
};

Status query(size_t& bytes, Problem p, const Gpu& gpu) {
  int64_t most = 1;
  for (const int alignment : {16, static_cast<int>(size_of(p.in))}) {
    p.in_alignment = alignment;
    most = std::max(most, make_work(p, gpu).scratch_bytes());
  }
  bytes = static_cast<size_t>(most);
  return Status::success;
}

Status launch(void* workspace, size_t bytes, Problem p, const void* in, void* out, const Device& device,
              cudaStream_t stream) {
  Status status = check_pointers(in, out, p);
  if (status != Status::success || is_empty(p)) return status;
  const Work work = make_work(p, device.gpu);
  if (work.scratch_bytes() > 0) {
    if (bytes < static_cast<size_t>(work.scratch_bytes())) return Status::workspace_too_small;
    if (reinterpret_cast<uintptr_t>(workspace) % 16 != 0) return Status::misaligned_pointer;
    status = device.check(workspace);
  }
  if (status == Status::success) status = device.check(in);
  if (status == Status::success) status = device.check(out);
  if (status != Status::success) return status;
  return said(cuda::launch(work, {in, out, workspace}, stream, cuda::has_dependent_launch(device.number)));
}

}  // namespace

Status reduce_on_cuda(void* workspace, size_t& workspace_bytes, const Reduction& r, const void* in, void* out,
                      CUstream_st* stream) noexcept {
  Problem p;
  if (const Status status = describe(r, p); status != Status::success) return status;
  Device device;
  if (const cudaError_t error = device.ask(); error != cudaSuccess) return said(error);
  try {
    return workspace == nullptr ? query(workspace_bytes, p, device.gpu)
                                : launch(workspace, workspace_bytes, p, in, out, device, stream);
  } catch (const std::invalid_argument&) {  // no plan holds it
    return Status::too_large;
  }
}

int cuda_error() noexcept { return last_error; }

}  // namespace torch_reduce::core
