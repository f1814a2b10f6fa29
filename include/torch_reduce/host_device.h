// Functions for host and device, in headers that C++ compilers read too.
#ifndef TORCH_REDUCE_HOST_DEVICE_H_
#define TORCH_REDUCE_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define TORCH_REDUCE_HD __host__ __device__ __forceinline__
#elif defined(__OPTIMIZE__)
#define TORCH_REDUCE_HD inline __attribute__((always_inline))
#else  // a debugger steps into them, and the build takes a fifth of the time
#define TORCH_REDUCE_HD inline
#endif

// Before a loop of a constant number of steps, at most 64.
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define TORCH_REDUCE_UNROLL _Pragma("unroll")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define TORCH_REDUCE_UNROLL _Pragma("GCC unroll 64")
#else
#define TORCH_REDUCE_UNROLL
#endif

#endif  // TORCH_REDUCE_HOST_DEVICE_H_
