// The kernels of one instruction set: TR_CPU_NAMESPACE names it (kernels.h).
#include "kernels.h"

#include "bundles.h"
#include "chunk_columns.h"
#include "columns.h"
#include "rows.h"
#include "segments.h"
#include "short_rows.h"
#include "strips.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

template <class Kernel, class Job>
void in_parallel(const Job& job, const Threads& threads) {
  const Task task = [](void* context, int64_t begin, int64_t end) {
    Kernel(*static_cast<const Job*>(context)).run(begin, end);
  };
  void* context = const_cast<Job*>(&job);
  if (threads.count <= 1 || job.plan.tasks <= job.plan.grain) {
    task(context, 0, job.plan.tasks);
  } else {
    threads.parallel_for(job.plan.tasks, job.plan.grain, context, task);
  }
}

// The trees over the pieces of every output.
template <class Op, class Acc>
void combine_pieces(const Job<Op, Acc>& job) {
  for (int64_t output = 0; output < job.layout().outputs; ++output) {
    Stack<Op, Acc> stack;
    for (int64_t piece = 0; piece < job.plan.split; ++piece) {
      stack.push(job.partials[output * job.plan.split + piece]);
    }
    const Acc result = stack.result();
    job.write_results(output, 1, &result);
  }
}

// Every chunk as a column, into the partials.
template <class Op, class Acc>
void reduce_chunks(const Job<Op, Acc>& job, const Threads& threads) {
  const Problem chunks = chunk_columns(job.problem);
  CpuPlan plan = job.plan;
  plan.split = 1;
  const Job<Op, Acc> columns{
      chunks, plan, job.elements, write_values<Acc>, job.in, reinterpret_cast<char*>(job.partials), nullptr};
  in_parallel<ColumnsKernel<Op, Acc>>(columns, threads);
}

template <class Op, class Acc>
void reduce_in(const Problem& problem, const CpuPlan& plan, const char* in, char* out, const Threads& threads) {
  const Buffer<Acc> partials(plan.split > 1 ? problem.layout.outputs * plan.split : 0);
  const Job<Op, Acc> job{problem, plan,         make_elements<Op, Acc>(problem), make_writer<Op, Acc>(problem), in,
                         out,     partials.data};
  if (plan.across == Across::Chunks) {
    reduce_chunks(job, threads);
  } else if (plan.across == Across::Bundles) {
    if constexpr (!order_free<Op, Acc>) in_parallel<BundlesKernel<Op, Acc>>(job, threads);
  } else if (plan.across == Across::Strips) {
    if constexpr (!order_free<Op, Acc>) in_parallel<StripsKernel<Op, Acc>>(job, threads);
  } else if (plan.family == Family::Rows && SegmentsKernel<Op, Acc>::takes(job)) {
    in_parallel<SegmentsKernel<Op, Acc>>(job, threads);
  } else if (plan.family == Family::Rows) {
    in_parallel<RowsKernel<Op, Acc>>(job, threads);
  } else if (plan.family == Family::ShortRows) {
    in_parallel<ShortRowsKernel<Op, Acc>>(job, threads);
  } else {
    in_parallel<ColumnsKernel<Op, Acc>>(job, threads);
  }
  if (plan.split > 1) combine_pieces(job);
}

template <class Op>
void reduce_by(const Problem& problem, const CpuPlan& plan, const void* in, void* out, const Threads& threads) {
  const auto* x = static_cast<const char*>(in);
  auto* y = static_cast<char*>(out);
  switch (problem.compute) {
    case DType::Float32:
      return reduce_in<Op, float>(problem, plan, x, y, threads);
    case DType::Float64:
      return reduce_in<Op, double>(problem, plan, x, y, threads);
    default:
      return reduce_in<Op, int64_t>(problem, plan, x, y, threads);
  }
}

}  // namespace

void run(const Problem& problem, const CpuPlan& plan, const void* in, void* out, const Threads& threads) {
  switch (problem.op) {
    case Op::Sum:
    case Op::Mean:
      return reduce_by<Sum>(problem, plan, in, out, threads);
    case Op::Prod:
      return reduce_by<Prod>(problem, plan, in, out, threads);
    case Op::Max:
      return reduce_by<Max>(problem, plan, in, out, threads);
    case Op::Min:
      return reduce_by<Min>(problem, plan, in, out, threads);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
