// Device memory: check, plan, and launch into the caller's workspace.
#include <algorithm>
#include <stdexcept>

#include "core/cuda/launch/exact.h"
#include "describe.h"

namespace torch_reduce::core {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

Status said(cudaError_t error) {
  if (error == cudaSuccess) return Status::success;
  last_error = error;
  return Status::cuda_error;
}

// How the GPU works on a problem, by either kind of plan.
struct Work {
  Plan plan;
  exact::ExactPlan exact;
  bool accumulated;

  Work(const Problem& p, const Gpu& gpu) : accumulated(is_accumulated(p)) {
    if (accumulated) {
      exact = exact::make_exact_plan(p, false, gpu);
    } else {
      plan = make_plan(p, gpu);
    }
  }
  int64_t scratch_bytes() const { return accumulated ? exact.scratch_bytes : plan.scratch_bytes; }
  cudaError_t launch(const Problem& p, const cuda::Buffers& b, cudaStream_t stream, bool dependent) const {
    return accumulated ? cuda::launch_exact(exact, p, false, b, stream, dependent)
                       : cuda::launch(plan, p, b, stream, dependent);
  }
};

// Which GPU is current, and what plans want to know of it.
struct Device {
  int number = 0, reads_pageable = 0;
  Gpu gpu;

  cudaError_t ask() {
    cudaError_t error = cudaGetDevice(&number);
    const auto attribute = [&](int* value, cudaDeviceAttr which) {
      if (error == cudaSuccess) error = cudaDeviceGetAttribute(value, which, number);
    };
    int sms = 0, major = 0, minor = 0;
    attribute(&sms, cudaDevAttrMultiProcessorCount);
    attribute(&major, cudaDevAttrComputeCapabilityMajor);
    attribute(&minor, cudaDevAttrComputeCapabilityMinor);
    attribute(&reads_pageable, cudaDevAttrPageableMemoryAccess);
    gpu = make_gpu(sms, major, minor);
    if (!cuda::has_dependent_launch(number)) gpu.cluster_ctas = 1;  // nor has earlier code clusters
    return error;
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
    most = std::max(most, Work(p, gpu).scratch_bytes());
  }
  bytes = static_cast<size_t>(most);
  return Status::success;
}

Status launch(void* workspace, size_t bytes, Problem p, const void* in, void* out, const Device& device,
              cudaStream_t stream) {
  Status status = check_pointers(in, out, p);
  if (status != Status::success || p.layout.outputs == 0) return status;
  const Work work(p, device.gpu);
  if (work.scratch_bytes() > 0) {
    if (bytes < static_cast<size_t>(work.scratch_bytes())) return Status::workspace_too_small;
    if (reinterpret_cast<uintptr_t>(workspace) % 16 != 0) return Status::misaligned_pointer;
    status = device.check(workspace);
  }
  if (status == Status::success) status = device.check(in);
  if (status == Status::success) status = device.check(out);
  if (status != Status::success) return status;
  return said(work.launch(p, {in, out, workspace}, stream, cuda::has_dependent_launch(device.number)));
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
