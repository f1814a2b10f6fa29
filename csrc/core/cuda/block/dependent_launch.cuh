// Programmatic dependent launch (Hopper and later): a kernel's CTAs may be there, and wait, before the kernel before
// has ended, so that its launch does not add to their times. Every kernel waits before it touches memory, and so all
// that came before what it waited for has ended too.
//
// A kernel behind one that zeroes its accumulators is the exception: that one lets it come when all before has ended,
// so the input is there, and only the accumulators are to be waited for.
#pragma once

namespace torch_reduce::cuda {

// Waits until the kernel before has ended and its writes can be seen.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel of the stream be there from now on, rather than when this one's CTAs have ended. For a kernel
// that has waited, and so has the GPU to itself, and for one whose own second kernel is the next.
__device__ __forceinline__ void allow_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// For one that writes the results itself: only if it leaves SMs free. Else the next kernel's CTAs would go to where
// this one ends first, as many as there is room for, and not to all SMs alike.
__device__ __forceinline__ void allow_next_kernel_if_small() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr unsigned kFewCtas = 128;
  if (gridDim.x <= kFewCtas) allow_next_kernel();
#endif
}

// For a CTA that adds to accumulators, which the kernel before zeroes, once it has read its part. The next kernel,
// which may be one that zeroes as well, is to be there when this one ends.
__device__ __forceinline__ void wait_to_add() {
  allow_next_kernel();
  wait_for_previous_kernel();
}

}  // namespace torch_reduce::cuda
