// The maps of every instruction set (dispatch/kernels.h).
#pragma once

#include "core/cpu/job/threads.h"
#include "core/problem/channel_problem.h"
#include "core/problem/map_problem.h"

namespace torch_reduce::cpu {

// Null: not given, or not asked for.
struct MapBuffers {
  const void *x, *second, *weight, *bias, *read;
  const bool* mask;
  void *out, *written, *sum;
};

using RunMap = void(const MapProblem& p, const MapBuffers& buffers, const Threads& threads);
using RunChannelMap = void(const ChannelProblem& p, const ChannelBuffers& buffers, const Threads& threads);
namespace baseline {
RunMap run_map;
RunChannelMap run_channel_map;
}  // namespace baseline
namespace avx2 {
RunMap run_map;
RunChannelMap run_channel_map;
}  // namespace avx2
namespace avx512 {
RunMap run_map;
RunChannelMap run_channel_map;
}  // namespace avx512

}  // namespace torch_reduce::cpu
