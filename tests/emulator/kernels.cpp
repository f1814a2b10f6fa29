// The kernels of modes "deterministic" and "atomic" behind one C function, for tests/support/emulated_kernels.py.
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/launch/launch.h"
// clang-format on

#include <stdexcept>
#include <vector>

#include "core/problem/build_problem.h"

using namespace torch_reduce;

namespace {

// INSTANCES is a list of INSTANCE(Operator, Acc), for each of which kernels_of.cpp is compiled.
cudaError_t launch_instance(const Plan& plan, const Problem& p, const cuda::Buffers& buffers) {
  return with_operator(p.op, [&](auto tag) {
    using Asked = typename decltype(tag)::type;
    const auto launch = [&](auto kernels) {
      using O = typename decltype(kernels)::type;
#define INSTANCE(Operator, Acc)                                                                \
  if constexpr (std::is_same_v<O, Operator>) {                                                 \
    if (p.compute == dtype_of<Acc>::value)                                                     \
      return cuda::launch_typed<O, Acc>(plan, p, buffers, nullptr, /*dependent_launch=*/true); \
  }
      INSTANCES
      return cudaErrorInvalidValue;
    };
    using O = gpu_kernels<Asked>;
    if (p.partner.role == Role::NormalFactor) return launch(OperatorTag<NormalDot>{});
    return is_masked(p) ? launch(OperatorTag<Masked<O>>{}) : launch(OperatorTag<O>{});
  });
}

}  // namespace

constexpr double kOrder = 3;  // of norms

extern "C" {

// What a plan is, for tests to know what they have run. kernel: which of the alternatives of Plan.
struct Planned {
  int kernel, access, finish, few_outputs, finish_cluster;
  int64_t units, grid;
};

// Plans a reduction of the tensor of these sizes and strides (in elements) at `in`, and runs it if there is an `out`;
// `out_strides` are those of the kept dims, by dim of the input, and `out_second` leads to second results. Operators,
// modes, types and families are numbered as Op, Mode, DType and Family; a family or vector of -1, or a split of 0, is
// the plan's choice. `role` numbers what the tensor at `other` with `other_strides` is, as Role; `counts` are beside
// `out`, and `rows` what normalises factors, in so many words. Returns a cudaError_t, or -1 for a constraint that is
// not legal.
int emulate_kernels(int op, int mode, int in_type, int out_type, int ndim, const int64_t* sizes, const int64_t* strides,
                    const bool* reduced, const int64_t* out_strides, int64_t out_second, const void* in, void* out,
                    int sms, int major, int family, int vector, int64_t split, bool backward, int role, int other_type,
                    const int64_t* other_strides, const void* other, const int64_t* counts, const void* rows,
                    int row_words, Planned* planned) {
  const auto address = reinterpret_cast<uintptr_t>(in);
  Description d{static_cast<Op>(op),
                static_cast<Mode>(mode),
                static_cast<DType>(in_type),
                static_cast<DType>(out_type),
                alignment_of(address),
                ndim,
                sizes,
                strides,
                reduced,
                out_strides,
                traits_of(static_cast<Op>(op)).has_order ? kOrder : 1.,
                out_second};
  d.role = static_cast<Role>(role);
  d.other_type = static_cast<DType>(other_type);
  d.other_alignment = alignment_of(reinterpret_cast<uintptr_t>(other));
  d.other_strides = other_strides;
  d.row_words = row_words;
  const Problem p = build_problem(d);
  Plan plan;
  try {
    plan = std::get<Plan>(make_work(p, make_gpu(sms, major, 0), {family, vector, split}).plan);
  } catch (const std::invalid_argument&) {
    return -1;
  }
  const FinishPlan& second = plan.finish_kernel;
  *planned = {static_cast<int>(plan.kernel.index()),
              static_cast<int>(plan.access),
              static_cast<int>(plan.finish),
              second.few_outputs,
              second.cluster,
              plan.units,
              plan.grid};
  if (!out || p.layout.outputs == 0) return cudaSuccess;
  const auto vectors = static_cast<size_t>(plan.scratch_bytes + 15) / 16;
  std::vector<uint4> scratch(vectors, {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a});
  emulator::backward = backward;
  return launch_instance(plan, p, {in, out, scratch.data(), other, counts, rows});
}

// What a kernel did that a GPU would not forgive, in the last launch; empty if nothing.
const char* emulator_failure() { return emulator::failure.c_str(); }

}  // extern "C"
