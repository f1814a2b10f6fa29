// CUB's full sum, as a peer. Half types accumulate in fp32 and small integers in int64, as the operators do.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>

// Levels of determinism can be asked for from CCCL 3.2 on, which is newer than the headers of CUDA 13.0.
#define CUB_HAS_LEVELS (CCCL_VERSION >= 3002000)
#if CUB_HAS_LEVELS
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>

#include <cuda/memory_resource>
#include <cuda/std/execution>
#include <cuda/stream_ref>
#endif

namespace {

#if CCCL_VERSION >= 3006000
using MemoryResource = cuda::mr::get_memory_resource_t;
#elif CUB_HAS_LEVELS
using MemoryResource = cuda::mr::__get_memory_resource_t;
#endif

template <class Acc>
struct To {
  template <class T>
  __host__ __device__ Acc operator()(T x) const {
    return static_cast<Acc>(x);
  }
};

template <class In, class Acc, class Out>
cudaError_t sum(void* temp, size_t* temp_bytes, const void* in, void* out, int64_t n, cudaStream_t stream) {
  return cub::DeviceReduce::TransformReduce(temp, *temp_bytes, static_cast<const In*>(in), static_cast<Out*>(out), n,
                                            cuda::std::plus<>{}, To<Acc>{}, Acc(0), stream);
}

#if CUB_HAS_LEVELS
// Where levels can be asked for, CUB allocates its scratch itself. This hands it the caller's, so that no contender
// pays for an allocation that the others do not make. Without scratch to hand out it notes the bytes asked for, and
// CUB, given none, launches nothing.
struct Scratch {
  void* temp;
  size_t* bytes;

  void* allocate(cuda::stream_ref, size_t size, size_t = 0) {
    if (temp == nullptr) *bytes = size;
    return temp;
  }
  void deallocate(cuda::stream_ref, void*, size_t, size_t = 0) noexcept {}
  void* allocate_sync(size_t size, size_t = 0) { return allocate(cudaStream_t{}, size); }
  void deallocate_sync(void*, size_t, size_t = 0) noexcept {}
  bool operator==(const Scratch& other) const { return temp == other.temp && bytes == other.bytes; }
  bool operator!=(const Scratch& other) const { return !(*this == other); }
};

// In CCCL 3.2, gpu_to_gpu takes no more elements than 31 bits count.
template <class T, class Level>
cudaError_t sum_at(Level level, void* temp, size_t* bytes, const void* in, void* out, int64_t n, cudaStream_t stream) {
  if (n > INT32_MAX) return cudaErrorInvalidValue;
  const auto env = cuda::std::execution::env{cuda::stream_ref{stream}, cuda::execution::require(level),
                                             cuda::std::execution::prop{MemoryResource{}, Scratch{temp, bytes}}};
  return cub::DeviceReduce::Sum(static_cast<const T*>(in), static_cast<T*>(out), static_cast<int>(n), env);
}
#endif

}  // namespace

// With temp == nullptr only writes the scratch that a call needs to *temp_bytes. Returns a cudaError_t.
#define CUB_SUM(name, In, Acc, Out)                                                                                   \
  extern "C" int cub_sum_##name(void* temp, size_t* temp_bytes, const void* in, void* out, int64_t n, void* stream) { \
    return sum<In, Acc, Out>(temp, temp_bytes, in, out, n, static_cast<cudaStream_t>(stream));                        \
  }
CUB_SUM(float16, __half, float, __half)
CUB_SUM(bfloat16, __nv_bfloat16, float, __nv_bfloat16)
CUB_SUM(float32, float, float, float)
CUB_SUM(float64, double, double, double)
CUB_SUM(bool, bool, int64_t, int64_t)
CUB_SUM(int8, int8_t, int64_t, int64_t)
CUB_SUM(int16, int16_t, int64_t, int64_t)
CUB_SUM(int32, int32_t, int64_t, int64_t)
CUB_SUM(int64, int64_t, int64_t, int64_t)

// 3.2.0 is 300200.
extern "C" int cub_version() { return CUB_VERSION; }

// cub_sum is CUB's own choice, run_to_run. It has no other level for 16-bit elements that accumulate in fp32.
#if CUB_HAS_LEVELS
#define CUB_SUM_AT(level, name, T)                                                                          \
  extern "C" int cub_##level##_##name(void* temp, size_t* temp_bytes, const void* in, void* out, int64_t n, \
                                      void* stream) {                                                       \
    return sum_at<T>(cuda::execution::determinism::level, temp, temp_bytes, in, out, n,                     \
                     static_cast<cudaStream_t>(stream));                                                    \
  }
CUB_SUM_AT(not_guaranteed, float32, float)
CUB_SUM_AT(not_guaranteed, float64, double)
CUB_SUM_AT(gpu_to_gpu, float32, float)
CUB_SUM_AT(gpu_to_gpu, float64, double)
#endif
