// Runs CUDA kernels on the CPU, so that their arithmetic and their cooperation are tested where there is no GPU: a
// thread of a CTA is a fiber (fibers.h), and CTAs run one after the other. What depends on real concurrency (races,
// memory order) is not seen, but for barriers that are missing. Covers what the kernels use, and no more.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string>  // libstdc++ 13 has __attribute__((__noinline__)) in it, which the macro below would break
#include <vector>

#include "fibers.h"
#include "intrinsics.h"

#define __global__
#define __device__
#define __shared__ thread_local  // static in functions, which may also be extern; all CTAs have the same memory
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__

namespace emulator {

constexpr size_t kMostShared = 227 << 10;  // of a CTA, on Hopper; what a kernel of less may have, its launch says
constexpr size_t kGap = 64;                // behind it, which nobody may write to
constexpr int kPoison = 0x7f;              // makes large numbers of every type: a kernel must not count on zeros

inline unsigned cluster_ctas = 1;

// What CTAs of a cluster have handed to the first one.
struct Handed {
  void* to;
  unsigned char value[32];  // an accumulator
  size_t bytes;
};
inline std::vector<Handed> handed;

template <class T>
void hand(T* to, T v) {
  static_assert(sizeof(T) <= sizeof(Handed::value));
  Handed h{to, {}, sizeof(v)};
  std::memcpy(h.value, &v, sizeof(v));
  handed.push_back(h);
}
inline void deliver() {
  for (const Handed& h : handed) std::memcpy(h.to, h.value, h.bytes);
  handed.clear();
}

// The same of what they hand to one another: a cluster runs twice, and has in the second run what was handed over in
// the first.
struct HandedOn {
  unsigned rank;
  Handed value;
};
inline std::vector<HandedOn> handed_on;
inline bool has_run = false;

template <class T>
void hand_on(unsigned rank, T* to, T v) {
  if (has_run) return;
  static_assert(sizeof(T) <= sizeof(Handed::value));
  HandedOn h{rank, {to, {}, sizeof(v)}};
  std::memcpy(h.value.value, &v, sizeof(v));
  handed_on.push_back(h);
}
inline void deliver_to(unsigned rank) {
  for (const HandedOn& h : handed_on) {
    if (has_run && h.rank == rank) std::memcpy(h.value.to, h.value.value, h.value.bytes);
  }
}
// Whether the cluster that has come to its end is to run again.
inline bool runs_again() {
  has_run = !has_run && !handed_on.empty();
  if (!has_run) handed_on.clear();
  return has_run;
}

}  // namespace emulator

namespace torch_reduce::cuda {

struct Launch {
  int64_t grid;
  int block;
  int64_t shared_bytes;
  cudaStream_t stream;
  bool dependent;
  int cluster = 1;
  int carveout = -1;
  int64_t most_shared_bytes = 0;
};

extern __shared__ __align__(16) unsigned char shared[];  // memory.cpp

template <class Args>
cudaError_t start(void (*kernel)(const Args), const Args& args, const Launch& l) {
  const bool whole = l.block % emulator::kWarp == 0 && l.cluster > 0 && l.grid % l.cluster == 0;
  const auto shared_bytes = static_cast<size_t>(l.shared_bytes);
  const auto most_shared = static_cast<size_t>(std::max<int64_t>(l.most_shared_bytes, 48 << 10));
  if (!whole || l.grid < 1 || l.block > emulator::kMostThreads || shared_bytes > most_shared ||
      most_shared > emulator::kMostShared) {
    return cudaErrorInvalidValue;
  }
  struct Call {
    void (*kernel)(const Args);
    const Args* args;
  } call{kernel, &args};
  emulator::argument = &call;
  emulator::entry = [](void* p) { static_cast<Call*>(p)->kernel(*static_cast<Call*>(p)->args); };
  emulator::failure.clear();
  emulator::handed.clear();
  emulator::handed_on.clear();
  emulator::has_run = false;
  emulator::cluster_ctas = static_cast<unsigned>(l.cluster);
  for (int64_t i = 0; i < l.grid; ++i) {
    const int64_t in_order = emulator::backward ? l.grid - 1 - i : i;
    const int64_t rank = l.cluster - 1 - i % l.cluster;  // the first one last
    std::memset(shared, emulator::kPoison, emulator::kMostShared + emulator::kGap);
    emulator::run_cta(static_cast<unsigned>(in_order / l.cluster * l.cluster + rank), l.block);
    const auto* gap = shared + shared_bytes;
    if (std::any_of(gap, gap + emulator::kGap, [](unsigned char byte) { return byte != emulator::kPoison; })) {
      emulator::fail("writes behind the CTA's shared memory");
    }
    if (rank == 0 && !emulator::handed.empty()) emulator::fail("does not wait for what it is handed");
    if (!emulator::failure.empty()) return cudaErrorLaunchFailure;
    if (rank == 0 && emulator::runs_again()) i -= l.cluster;
  }
  return cudaSuccess;
}

}  // namespace torch_reduce::cuda
