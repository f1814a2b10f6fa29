// The scans behind one C function, for tests/support/emulated_scans.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/contract/scans.h"
#include "core/cuda/launch/launch.h"
// clang-format on

#include <stdexcept>
#include <vector>

#include "core/problem/build_problem.h"

using namespace torch_reduce;

namespace {

// INSTANCES is a list of INSTANCE(Operator, Acc), for each of which scans_of.cpp is compiled.
cudaError_t launch_instance(const ScanPlan& plan, const Problem& p, const cuda::Buffers& buffers) {
  return with_scanned(p.op, [&](auto tag) {
    using O = scanned<gpu_kernels<typename decltype(tag)::type>>;
#define INSTANCE(Operator, Acc)                                                                     \
  if constexpr (std::is_same_v<O, Operator>) {                                                      \
    if (p.compute == dtype_of<Acc>::value)                                                          \
      return cuda::launch_scan_typed<O, Acc>(plan, p, buffers, nullptr, /*dependent_launch=*/true); \
  }
    INSTANCES
    return cudaErrorInvalidValue;
  });
}

}  // namespace

extern "C" {

// What a plan is, for tests to know what they have run.
struct PlannedScan {
  int log_width, log_warps, log_chunks, reads_across, writes_across, reads_vectors, writes_vectors, reads_packed,
      writes_packed;
  int64_t parts, tiles;
};

// Scans the tensor of these sizes and strides (in elements) at `in`. Scans and types are numbered as Scan and DType.
// Returns a cudaError_t.
int emulate_scan(int scan, int in_type, int out_type, int ndim, const int64_t* sizes, const int64_t* strides, int dim,
                 const int64_t* out_strides, const void* in, void* out, bool backward, PlannedScan* planned) {
  bool reduced[kMaxDims] = {};
  reduced[dim] = true;
  const Problem p = build_problem({op_of(static_cast<Scan>(scan)), Mode::Deterministic, static_cast<DType>(in_type),
                                   static_cast<DType>(out_type), alignment_of(reinterpret_cast<uintptr_t>(in)), ndim,
                                   sizes, strides, reduced, out_strides, 1, 0, out_strides[dim]});
  const ScanPlan plan = make_scan_plan(p);
  *planned = {plan.log_width,     plan.log_warps,     plan.log_chunks,     plan.reads_across,
              plan.writes_across, plan.reads_vectors, plan.writes_vectors, plan.reads_packed,
              plan.writes_packed, plan.parts,         plan.tiles};
  const auto vectors = static_cast<size_t>(plan.scratch_bytes + 15) / 16;
  std::vector<uint4> scratch(vectors, {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a});
  emulator::backward = backward;
  return is_empty(p) ? cudaSuccess : launch_instance(plan, p, {in, out, scratch.data()});
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
