// Runs CUDA kernels on the CPU, so that their arithmetic and their cooperation are tested where there is no GPU: a
// thread of a CTA is a fiber, which runs until a barrier or an exchange of its warp, and CTAs run one after the other.
// What depends on real concurrency (races, memory order) is not seen. Covers what the exact kernels use, and no more.
#pragma once

#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>  // libstdc++ 13 has __attribute__((__noinline__)) in it, which the macro below would break
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __shared__ static  // CTAs run one after the other
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__

namespace emulator {

struct Index {
  unsigned x = 0;
};
struct Group {  // a CTA, or a warp of it
  int live = 0, arrived = 0;
  long generation = 0;
  uint64_t value[2][32];  // of the lanes, by the parity of the generation

  void arrive() {
    if (++arrived == live) release();
  }
  void leave() {
    --live;
    if (arrived > 0 && arrived == live) release();
  }
  void release() {
    arrived = 0;
    ++generation;
  }
};
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  bool done = false;
  Group* waits = nullptr;
  long generation = 0;
};

inline Index thread, block, size;
inline std::vector<Fiber> fibers;
inline Group cta, warps[32];
inline ucontext_t scheduler;
inline void (*entry)(void*);
inline void* argument;

inline void wait_for(Group& group) {
  Fiber& self = fibers[thread.x];
  self.waits = &group;
  self.generation = group.generation;
  group.arrive();
  if (group.generation == self.generation) swapcontext(&self.context, &scheduler);
  self.waits = nullptr;
}

inline void run_fiber() {
  entry(argument);
  const unsigned me = thread.x;
  warps[me / 32].leave();
  cta.leave();
  fibers[me].done = true;
  swapcontext(&fibers[me].context, &scheduler);
}

inline void run_cta(unsigned index, int threads) {
  block.x = index;
  size.x = static_cast<unsigned>(threads);
  fibers.resize(static_cast<size_t>(threads));
  cta = Group{};
  cta.live = threads;
  for (int w = 0; w < threads / 32; ++w) {
    warps[w] = Group{};
    warps[w].live = 32;
  }
  for (Fiber& f : fibers) {
    f.done = false;
    f.waits = nullptr;
    f.stack.resize(1 << 16);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = nullptr;
    makecontext(&f.context, run_fiber, 0);
  }
  for (int left = threads; left > 0;) {
    for (int i = 0; i < threads; ++i) {
      Fiber& f = fibers[static_cast<size_t>(i)];
      if (f.done || (f.waits && f.waits->generation == f.generation)) continue;
      thread.x = static_cast<unsigned>(i);
      swapcontext(&scheduler, &f.context);
      left -= f.done;
    }
  }
}

// Every lane's value, by lane. All lanes of the warp take part.
template <class T>
const uint64_t* gather(T v) {
  Group& warp = warps[thread.x / 32];
  uint64_t* const value = warp.value[warp.generation & 1];
  value[thread.x % 32] = 0;
  std::memcpy(&value[thread.x % 32], &v, sizeof(v));
  wait_for(warp);
  return value;
}

}  // namespace emulator

#define threadIdx emulator::thread
#define blockIdx emulator::block
#define blockDim emulator::size

inline void __syncthreads() { emulator::wait_for(emulator::cta); }
inline void __syncwarp() { emulator::wait_for(emulator::warps[threadIdx.x / 32]); }
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned, T v, int lane) {
  const uint64_t* const all = emulator::gather(v);
  std::memcpy(&v, &all[lane], sizeof(v));
  return v;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int lane_mask) {
  return __shfl_sync(mask, v, static_cast<int>(threadIdx.x % 32) ^ lane_mask);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, int distance) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return __shfl_sync(mask, v, lane < distance ? lane : lane - distance);
}
inline unsigned __ballot_sync(unsigned, bool v) {
  const uint64_t* const all = emulator::gather(v);
  unsigned mask = 0;
  for (int lane = 0; lane < 32; ++lane) mask |= static_cast<unsigned>(all[lane] & 1) << lane;
  return mask;
}
template <class T, class F>
T reduce_across_warp(T v, F f) {
  const uint64_t* const all = emulator::gather(v);
  for (int lane = 0; lane < 32; ++lane) {
    T other;
    std::memcpy(&other, &all[lane], sizeof(other));
    v = lane == 0 ? other : f(v, other);
  }
  return v;
}
template <class T>
T __reduce_add_sync(unsigned, T v) {
  return reduce_across_warp(
      v, [](T a, T b) { return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); });
}
template <class T>
T __reduce_max_sync(unsigned, T v) {
  return reduce_across_warp(v, [](T a, T b) { return a > b ? a : b; });
}
template <class T>
T __reduce_min_sync(unsigned, T v) {
  return reduce_across_warp(v, [](T a, T b) { return a < b ? a : b; });
}

template <class T>
T atomicAdd(T* target, T v) {
  const T before = *target;
  *target = before + v;
  return before;
}
template <class T>
T atomicMin(T* target, T v) {
  const T before = *target;
  *target = std::min(before, v);
  return before;
}
template <class T>
T atomicMax(T* target, T v) {
  const T before = *target;
  *target = std::max(before, v);
  return before;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}

template <class To, class From>
To bits_as(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
inline int __double2hiint(double x) { return static_cast<int>(bits_as<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(bits_as<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return bits_as<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __ddiv_rz(double a, double b) {  // of finite numbers
  const double q = a / b;
  if (!std::isfinite(q)) return q;
  const double rest = std::fma(-q, b, a);  // a - q b: of the sign of a where q is not too far from zero
  const bool away = rest != 0 && (rest < 0) != (a < 0);
  return away ? std::nextafter(q, 0.0) : q;
}
inline double __ll2double_rz(long long v) {
  const auto d = static_cast<double>(v);
  const bool away =
      v < 0 ? d < static_cast<long double>(v) : d > static_cast<long double>(v);  // long double has 64 bits
  return away ? std::nextafter(d, 0.0) : d;
}
inline long long __double2ll_rz(double d) { return static_cast<long long>(d); }  // below 2^63
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }

inline unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return std::max({a, b, c}); }
inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { return std::min(a + b, c); }

template <class F>
unsigned by_halves(unsigned a, unsigned b, unsigned c, F f) {
  const auto half = [](unsigned v, int i) { return static_cast<uint16_t>(v >> 16 * i); };
  unsigned result = 0;
  for (int i = 0; i < 2; ++i) result |= static_cast<unsigned>(f(half(a, i), half(b, i), half(c, i))) << 16 * i;
  return result;
}
inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves(a, b, c, [](uint16_t x, uint16_t y, uint16_t z) { return std::max({x, y, z}); });
}
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves(a, b, c,
                   [](uint16_t x, uint16_t y, uint16_t z) { return std::min(static_cast<uint16_t>(x + y), z); });
}

template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

namespace torch_reduce::cuda {

struct Launch {
  int64_t grid;
  int block;
  int64_t shared_bytes;
  cudaStream_t stream;
  bool dependent;
};

constexpr size_t kSharedBytes = 227 << 10;
alignas(16) inline unsigned char shared[kSharedBytes];
inline int64_t* shared_words() { return reinterpret_cast<int64_t*>(shared); }

template <class Args>
cudaError_t start(void (*kernel)(const Args), const Args& args, const Launch& l) {
  if (l.shared_bytes > (48 << 10) || l.grid < 1 || l.block > 1024) return cudaErrorInvalidValue;
  struct Call {
    void (*kernel)(const Args);
    const Args* args;
  } call{kernel, &args};
  emulator::argument = &call;
  emulator::entry = [](void* p) { static_cast<Call*>(p)->kernel(*static_cast<Call*>(p)->args); };
  for (int64_t index = 0; index < l.grid; ++index) {
    std::memset(shared, 0xa5, static_cast<size_t>(l.shared_bytes));  // a kernel must not count on zeros
    emulator::run_cta(static_cast<unsigned>(index), l.block);
  }
  return cudaSuccess;
}

}  // namespace torch_reduce::cuda
