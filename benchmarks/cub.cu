// CUB's full sum, as a peer. Half types accumulate in fp32 and small integers in int64, as the operators do.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

namespace {

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
CUB_SUM(int8, int8_t, int64_t, int64_t)
CUB_SUM(int32, int32_t, int64_t, int64_t)
