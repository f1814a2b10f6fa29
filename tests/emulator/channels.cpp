// Maps of elements by channel behind one C function, for tests/cuda/test_emulated_channels.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/map/channels.cu"
// clang-format on

using namespace torch_reduce;

extern "C" {

// As ChannelProblem and ChannelBuffers have it. Returns a cudaError_t.
int emulate_channel_map(int map, int type, int64_t elements, int64_t channels, int64_t neighbours, double epsilon,
                        const void* x, const void* second, const void* mean, const void* variance, const void* weight,
                        const void* bias, const void* sums, void* row, void* out, bool backward) {
  const auto in = static_cast<DType>(type);
  const ChannelProblem p{
      static_cast<ChannelMap>(map), in, compute_type_of_map(in), elements, channels, neighbours, epsilon};
  emulator::backward = backward;
  return cuda::launch_channel_map(make_channel_plan(p), p, {x, second, mean, variance, weight, bias, sums, row, out},
                                  nullptr,
                                  /*dependent_launch=*/true);
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
