// Selections behind one C function, for tests/support/emulated_selections.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/select/select.cu"
// clang-format on

#include <vector>

#include "core/contract/scans.h"
#include "core/problem/build_problem.h"

using namespace torch_reduce;

extern "C" {

// Selects from rows of n elements that begin `pitch` elements apart, for so many SMs. Types are numbered as DType.
// Returns a cudaError_t, or -1 if a CTA has no room for what each of its threads leaves.
int emulate_selection(int type, int64_t rows, int64_t n, int64_t pitch, int64_t stride, int64_t count, bool largest,
                      int sms, bool backward, const void* in, int64_t* out, int64_t* segments) {
  const int64_t sizes[] = {rows, n}, strides[] = {pitch, stride}, out_strides[] = {count, 1};
  const bool reduced[] = {false, true};
  const Problem p =
      build_problem({op_of(Scan::_cumargmax), Mode::Deterministic, static_cast<DType>(type), DType::Int64,
                     alignment_of(reinterpret_cast<uintptr_t>(in)), 2, sizes, strides, reduced, out_strides, 1, 0, 1});
  const Selection selection{p, count, largest};
  const SelectPlan plan = make_select_plan(selection, make_gpu(sms, 9, 0));
  *segments = plan.segments;
  const auto lacks_room = [](const SelectStep& step, int64_t elements) {
    return elements > int64_t{1} << step.log_room && step.block > 1 << step.log_room;
  };
  if (lacks_room(plan.first, plan.segment) || lacks_room(plan.second, plan.segments * count)) return -1;
  std::vector<uint4> scratch(static_cast<size_t>(plan.scratch_bytes / 16 + 1));
  emulator::backward = backward;
  return cuda::launch_selection(plan, selection, {in, out, scratch.data()}, nullptr, true);
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
