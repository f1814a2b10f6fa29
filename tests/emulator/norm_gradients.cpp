// All gradients of a norm behind one C function, for tests/cuda/test_emulated_norm_gradients.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/map/norm_gradients.cu"
// clang-format on

#include <vector>

#include "core/problem/build_problem.h"

using namespace torch_reduce;

extern "C" {

// Of rows of n elements, which begin so many elements after one another: gradients, what the norm was given, and the
// results. `read`: what the norm has kept of each row. Without results it is planned alone. Returns a cudaError_t, or
// -1 where there is no such kernel.
int emulate_norm_gradients(bool centred, int type, int64_t rows, int64_t n, int64_t grad_stride, int64_t self_stride,
                           int64_t out_stride, const void* grad, const void* self, const void* weight, const void* read,
                           void* out, void* sums, bool backward, int64_t* units) {
  const auto alignment = [](const void* p) { return alignment_of(reinterpret_cast<uintptr_t>(p)); };
  const auto in = static_cast<DType>(type);
  MapProblem p{centred ? Map::LayerNormBackward : Map::RmsNormBackward,
               in,
               in,
               in,
               compute_type_of_map(in),
               0,
               1,
               std::min(alignment(grad), alignment(self)),
               alignment(out),
               alignment(weight),
               16,
               n};
  add_dim(p, {rows, {grad_stride, self_stride, out_stride}});
  const auto plan = make_norm_gradients_plan(p, make_gpu(4, 9, 0));
  if (!plan) return -1;
  *units = plan->units;
  if (out == nullptr) return cudaSuccess;
  std::vector<uint4> scratch(static_cast<size_t>(plan->scratch_bytes + 15) / 16,
                             {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a});
  emulator::backward = backward;
  return cuda::launch_norm_gradients(
      *plan, p, {grad, self, weight, nullptr, read, nullptr, out, nullptr, nullptr, scratch.data()}, sums, nullptr,
      /*dependent_launch=*/true);
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
