// The building blocks of torch_reduce/device/order.cuh, and the example kernels that use them, behind C functions for
// tests/contract/test_order_device.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "moments.h"

inline float __fsqrt_rn(float x) { return std::sqrt(x); }

#include "../../examples/cpp/device/relu_sum.cuh"
#include "../../examples/cpp/device/rms_norm.cuh"
// clang-format on

namespace {

namespace order = torch_reduce::order;

template <class Args>
int launch(void (*kernel)(const Args), const Args& args, int64_t grid, int threads) {
  return torch_reduce::cuda::start(kernel, args, {grid, threads, 0, nullptr, false});
}

// What two results that must be the same are, or else what no result is.
template <class Acc>
Acc same(const Acc& once, const Acc& again) {
  Acc v;
  std::memset(&v, 0x5a, sizeof(Acc));
  return std::memcmp(&once, &again, sizeof(Acc)) == 0 ? once : v;
}

template <class Acc>
struct Row {
  const Acc* x;
  Acc* out;
  int64_t n, piece;  // a block takes `piece` elements
};

template <class Op, class Acc>
void by_warp(const Row<Acc> a) {
  const int64_t first = blockIdx.x * a.piece, n = std::min(a.piece, a.n - first);
  const Acc v = order::warp_reduce<Op>(n, [&](int64_t i) { return a.x[first + i]; });
  a.out[blockIdx.x * order::kWarp + threadIdx.x] = v;  // every lane has it
}

template <class Op, class Acc, int Threads>
void by_block(const Row<Acc> a) {
  __shared__ order::BlockStorage<Acc, Threads> storage;
  const int64_t first = blockIdx.x * a.piece, n = std::min(a.piece, a.n - first);
  const auto value = [&](int64_t i) { return a.x[first + i]; };
  const Acc once = order::block_reduce<Op>(n, value, storage);
  const Acc again = order::block_reduce<Op>(n, value, storage);  // the storage is free at once
  a.out[blockIdx.x * Threads + threadIdx.x] = same(once, again);
}

// One full or partial chunk in registers, as loads of V neighbours bring it.
template <class Op, class Acc, int V>
void by_registers(const Row<Acc> a) {
  Acc x[order::kElementsOfLane];
  for (int i = 0; i < order::kElementsOfLane / V; ++i) {
    for (int e = 0; e < V; ++e) {
      const int64_t element = 32 * V * i + V * static_cast<int64_t>(threadIdx.x) + e;
      x[V * i + e] = element < a.n ? a.x[element] : Op::template identity<Acc>();
    }
  }
  a.out[threadIdx.x] = order::warp_chunk<Op, V>(x);
}

// The same by a block: a row of up to 32 elements a thread, a chunk a warp.
template <class Op, class Acc>
void by_block_registers(const Row<Acc> a) {
  constexpr int V = 4, Threads = 256;
  __shared__ order::BlockStorage<Acc, Threads> storage;
  Acc x[order::kElementsOfLane];
  const int64_t first = threadIdx.x / 32 * order::kChunk, lane = threadIdx.x % 32;
  for (int i = 0; i < order::kElementsOfLane; ++i) {
    const int64_t element = first + 32 * V * (i / V) + V * lane + i % V;
    x[i] = element < a.n ? a.x[element] : Op::template identity<Acc>();
  }
  const Acc once = order::block_chunks<Op, V>(x, storage), again = order::block_chunks<Op, V>(x, storage);
  a.out[threadIdx.x] = same(once, again);
}

template <class Op, class Acc>
int dispatch(int how, const Row<Acc>& row, int64_t grid) {
  switch (how) {
    case 0:
      return launch(by_warp<Op, Acc>, row, grid, order::kWarp);
    case 32:
      return launch(by_block<Op, Acc, 32>, row, grid, 32);
    case 64:
      return launch(by_block<Op, Acc, 64>, row, grid, 64);
    case 256:
      return launch(by_block<Op, Acc, 256>, row, grid, 256);
    case 1024:
      return launch(by_block<Op, Acc, 1024>, row, grid, 1024);
    case -256:
      return launch(by_block_registers<Op, Acc>, row, 1, 256);
    case -1:
      return launch(by_registers<Op, Acc, 1>, row, 1, order::kWarp);
    case -2:
      return launch(by_registers<Op, Acc, 2>, row, 1, order::kWarp);
    case -4:
      return launch(by_registers<Op, Acc, 4>, row, 1, order::kWarp);
    default:
      return launch(by_registers<Op, Acc, 8>, row, 1, order::kWarp);
  }
}

int64_t pieces(int64_t n, int64_t piece) { return std::max<int64_t>((n + piece - 1) / piece, 1); }

template <class T>
int product(int how, const T* x, T* out, int64_t n, int64_t piece) {
  using Acc = order::Scaled<T>;
  const size_t threads = how == -256 ? 256 : how > 32 ? static_cast<size_t>(how) : 32;
  const auto grid = static_cast<size_t>(pieces(n, piece));
  std::vector<Acc> lifted(static_cast<size_t>(n)), values(grid * threads);
  for (size_t i = 0; i < lifted.size(); ++i) lifted[i] = order::Prod::lift(x[i]);
  const int status = dispatch<order::Prod>(how, Row<Acc>{lifted.data(), values.data(), n, piece}, pieces(n, piece));
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(order::Prod::finish(values[i], n));
  return status;
}

template <class Acc>
int reduce(int how, int prod, const Acc* x, Acc* out, int64_t n, int64_t piece) {
  if (prod) return product(how, x, out, n, piece);
  return dispatch<order::Sum>(how, Row<Acc>{x, out, n, piece}, pieces(n, piece));
}

struct Relu {
  const float *score, *weight;
  float* out;
  int64_t rows, n;
};
void relu_sum_of(const Relu a) { fused::relu_sum(a.score, a.weight, a.out, a.rows, a.n); }

struct Norm {
  const float *x, *weight;
  float* out;
  int64_t n;
  float eps;
};
void rms_norm_of(const Norm a) { fused::rms_norm(a.x, a.weight, a.out, a.n, a.eps); }

}  // namespace

extern "C" {

// How: 0, a warp a piece; a number of threads, a block a piece; -V, the chunk in registers;
// -256, up to eight chunks in the registers of a block. The value of every thread.
int reduce_float(int how, int prod, const float* x, float* out, int64_t n, int64_t piece) {
  return reduce(how, prod, x, out, n, piece);
}
int reduce_double(int how, int prod, const double* x, double* out, int64_t n, int64_t piece) {
  return reduce(how, prod, x, out, n, piece);
}

// Of accumulators of three words.
int reduce_moments(int how, const void* x, void* out, int64_t n, int64_t piece) {
  using Acc = ThreeWords<float>;
  return dispatch<CombineMoments>(how, Row<Acc>{static_cast<const Acc*>(x), static_cast<Acc*>(out), n, piece},
                                  pieces(n, piece));
}

int relu_sum(const float* score, const float* weight, float* out, int64_t rows, int64_t n, void*) {
  constexpr int kRows = fused::kReluThreads / order::kWarp;
  return launch(relu_sum_of, Relu{score, weight, out, rows, n}, (rows + kRows - 1) / kRows, fused::kReluThreads);
}

int rms_norm(const float* x, const float* weight, float* out, int64_t rows, int64_t n, float eps, void*) {
  return launch(rms_norm_of, Norm{x, weight, out, n, eps}, rows, fused::kNormThreads);
}

}  // extern "C"
