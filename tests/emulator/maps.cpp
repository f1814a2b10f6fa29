// The maps behind one C function, for tests/support/emulated_maps.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/map/buffers.h"
// clang-format on

#include <vector>

#include "core/problem/build_problem.h"

using namespace torch_reduce;

extern "C" {

// What a plan is, for tests to know what they have run.
struct PlannedMap {
  int places, loads, log_lanes, log_warps, warp_rows, warp_chunks, rows_per_cta, in_cluster, reads_vectors,
      writes_vectors, launches;
  int64_t units;
};

// Maps rows of n elements. Of `dims` dims of rows there is a size, and strides of x, second, out and mask (in
// elements); the same of a row behind them. Maps and types are numbered as Map and DType. Returns a cudaError_t.
int emulate_map(int map, int in_type, int out_type, int parameters, double epsilon, double scale, int dims,
                const int64_t* sizes, const int64_t* strides, int64_t n, int64_t channel, int64_t groups, const void* x,
                const void* second, const void* weight, const void* bias, const void* read, const void* mask, void* out,
                void* written, void* sum, int sms, int capability, int cluster_ctas, bool backward,
                PlannedMap* planned) {
  const auto alignment = [](const void* p) { return alignment_of(reinterpret_cast<uintptr_t>(p)); };
  const auto in = static_cast<DType>(in_type);
  MapProblem p{static_cast<Map>(map),
               in,
               static_cast<DType>(out_type),
               static_cast<DType>(parameters),
               compute_type_of_map(in),
               epsilon,
               scale,
               std::min(alignment(x), alignment(second)),
               std::min(alignment(out), alignment(sum)),
               std::min(alignment(weight), alignment(bias)),
               alignment(mask),
               n};
  p.channel = channel;
  p.groups = groups;
  const auto next = [&] {
    const MapStrides next{strides[0], strides[1], strides[2], strides[3]};
    strides += 4;
    return next;
  };
  for (int d = 0; d < dims; ++d) add_dim(p, {sizes[d], next()});
  p.along = next();
  Gpu gpu = make_gpu(sms, capability / 10, capability % 10);
  gpu.cluster_ctas = cluster_ctas;
  const MapPlan plan = make_map_plan(p, gpu);
  *planned = {static_cast<int>(plan.places),
              plan.loads,
              plan.log_lanes,
              plan.log_warps,
              plan.warp_rows,
              plan.warp_chunks,
              plan.rows_per_cta,
              plan.in_cluster,
              plan.reads_vectors,
              plan.writes_vectors,
              plan.launches,
              plan.units};
  const auto vectors = static_cast<size_t>(plan.scratch_bytes + 15) / 16;
  std::vector<uint4> scratch(vectors, {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a});
  emulator::backward = backward;
  return cuda::launch_map(
      plan, p, {x, second, weight, bias, read, static_cast<const bool*>(mask), out, written, sum, scratch.data()},
      nullptr, /*dependent_launch=*/true);
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
