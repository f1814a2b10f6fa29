// Kernels with a fault each, for tests/cuda/test_emulator.py: what the emulator sees of them.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/block/cluster.cuh"
// clang-format on

namespace torch_reduce::cuda {

constexpr int kThreads = 64;

struct Args {
  int* out;
};

void right(const Args a) {
  __shared__ int slots[kThreads];
  slots[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  a.out[threadIdx.x] = slots[kThreads - 1 - threadIdx.x];
}
void lacks_a_barrier(const Args a) {
  __shared__ int slots[kThreads];
  slots[threadIdx.x] = static_cast<int>(threadIdx.x);
  a.out[threadIdx.x] = slots[kThreads - 1 - threadIdx.x];
  __syncthreads();
  slots[threadIdx.x] = -1;
}
void counts_on_zeros(const Args a) {
  extern __shared__ __align__(16) unsigned char shared[];
  a.out[threadIdx.x] = static_cast<int>(kThreads - 1 - threadIdx.x) + reinterpret_cast<int*>(shared)[threadIdx.x];
}
void barrier_of_a_part(const Args) {
  if (threadIdx.x % 2 == 0) __syncthreads();
  __syncwarp();
}
void writes_behind(const Args) {
  extern __shared__ __align__(16) unsigned char shared[];
  shared[kThreads * sizeof(int) + threadIdx.x % 2] = 0;
}
void reads_between(const Args a) { a.out[0] = static_cast<int>(load16(a.out + 1).x); }

void meet(const Args a, bool early, bool waits) {
  __shared__ int of_cta[2];
  arrive_in_cluster();
  if (!early) wait_for_cluster();
  if (threadIdx.x == 0) hand_to_first(of_cta + rank_in_cluster(), 31 * static_cast<int>(rank_in_cluster() + 1));
  if (!waits) return;
  arrive_in_cluster();
  if (rank_in_cluster() > 0) return;
  wait_for_cluster();
  if (cluster_of_grid() == 0) a.out[threadIdx.x] = of_cta[1] + 1 - static_cast<int>(threadIdx.x);
}
void meets(const Args a) { meet(a, false, true); }
void hands_over_early(const Args a) { meet(a, true, true); }
void does_not_wait(const Args a) { meet(a, false, false); }

}  // namespace torch_reduce::cuda

// Runs kernel `which`. Without a fault, out[i] becomes 63 - i.
extern "C" int emulate_fault(int which, bool backward, int* out) {
  using namespace torch_reduce::cuda;
  void (*const kernels[])(const Args) = {right,         lacks_a_barrier, counts_on_zeros, barrier_of_a_part,
                                         writes_behind, reads_between,   meets,           hands_over_early,
                                         does_not_wait};
  emulator::backward = backward;
  const bool clusters = which >= 6;
  return start(kernels[which], Args{out},
               Launch{clusters ? 4 : 1, kThreads, kThreads * sizeof(int), nullptr, false, clusters ? 2 : 1});
}
extern "C" const char* emulator_failure() { return emulator::failure.c_str(); }
