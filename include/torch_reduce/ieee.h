// One IEEE operation each, of float and double, whatever the compiler's flags: on the device the instruction is named,
// which can neither fuse with a product before it (--fmad=true, nvcc's default) nor flush subnormals (--use_fast_math).
//
// Host code: compile with -ffp-contract=off, or a product that feeds a sum may fuse with it.
#ifndef TORCH_REDUCE_IEEE_H_
#define TORCH_REDUCE_IEEE_H_

#include "host_device.h"

namespace torch_reduce::order {

TORCH_REDUCE_HD float add(float a, float b) {
#if defined(__CUDA_ARCH__)
  asm("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
#else
  return a + b;
#endif
}
TORCH_REDUCE_HD double add(double a, double b) {
#if defined(__CUDA_ARCH__)
  asm("add.rn.f64 %0, %0, %1;" : "+d"(a) : "d"(b));
  return a;
#else
  return a + b;
#endif
}
TORCH_REDUCE_HD float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  asm("mul.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
#else
  return a * b;
#endif
}
TORCH_REDUCE_HD double multiply(double a, double b) {
#if defined(__CUDA_ARCH__)
  asm("mul.rn.f64 %0, %0, %1;" : "+d"(a) : "d"(b));
  return a;
#else
  return a * b;
#endif
}
TORCH_REDUCE_HD float divide(float a, float b) {
#if defined(__CUDA_ARCH__)
  asm("div.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
  return a;
#else
  return a / b;
#endif
}
TORCH_REDUCE_HD double divide(double a, double b) {
#if defined(__CUDA_ARCH__)
  asm("div.rn.f64 %0, %0, %1;" : "+d"(a) : "d"(b));
  return a;
#else
  return a / b;
#endif
}
TORCH_REDUCE_HD float magnitude_of(float x) {
#if defined(__CUDA_ARCH__)
  return fabsf(x);
#else
  return __builtin_fabsf(x);
#endif
}
TORCH_REDUCE_HD double magnitude_of(double x) {
#if defined(__CUDA_ARCH__)
  return fabs(x);
#else
  return __builtin_fabs(x);
#endif
}

}  // namespace torch_reduce::order

#endif  // TORCH_REDUCE_IEEE_H_
