// Maps, for one instruction set (dispatch/kernels.h).
#include "core/cpu/map/kernels.h"

#include "core/cpu/map/rows.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

constexpr int64_t kAlone = 1 << 14;  // elements, of all rows, that wake no thread
constexpr int64_t kGrain = 1 << 12;  // that a thread takes at least

struct Call {
  const MapProblem& problem;
  const MapBuffers& buffers;
};
template <class M, class Word>
void map_rows(void* context, int64_t begin, int64_t end) {
  const Call& call = *static_cast<const Call*>(context);
  MapRows<M, Word>(call.problem, call.buffers).run(begin, end);
}

}  // namespace

void run_map(const MapProblem& p, const MapBuffers& buffers, const Threads& threads) {
  Call call{p, buffers};
  const Task task = with_map(p.map, [&](auto tag) -> Task {
    using M = typename decltype(tag)::type;
    return p.compute == DType::Float64 ? map_rows<M, double> : map_rows<M, float>;
  });
  if (threads.count <= 1 || p.rows == 1 || p.rows < kAlone / p.n) return task(&call, 0, p.rows);
  threads.parallel_for(p.rows, p.n < kGrain ? kGrain / p.n : 1, &call, task);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
