// The kernels of one instruction set: TR_CPU_NAMESPACE names it (kernels.h).
#include "core/cpu/dispatch/kernels.h"

#include "core/cpu/columns/columns.h"
#include "core/cpu/dispatch/element_table.h"
#include "core/cpu/partner/blocks.h"
#include "core/cpu/rows/rows.h"
#include "core/cpu/rows/segments.h"
#include "core/cpu/short_rows/short_rows.h"
#include "core/cpu/transposed/bundles.h"
#include "core/cpu/transposed/strips.h"
#include "core/plan/cpu/chunk_columns.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

struct Share {
  int64_t begin, end;
};

// The tasks of a worker: one contiguous share, the same one in every call, as part of it may still be in its cache.
TR_HD Share share_of(const CpuPlan& plan, int64_t worker) {
  if (plan.workers == 1) return {0, plan.tasks};  // a small call would notice the division
  const int64_t share = plan.tasks / plan.workers, longer = plan.tasks % plan.workers;
  const int64_t begin = worker * share + smaller(worker, longer);
  return {begin, begin + share + (worker < longer)};
}

// What some workers do. A call, so that it is compiled once for one thread and for several.
template <class Kernel, class Job>
__attribute__((noinline)) void take_shares(void* context, int64_t begin, int64_t end) {
  const Job& shared = *static_cast<const Job*>(context);
  for (int64_t worker = begin; worker < end; ++worker) {
    const Share share = share_of(shared.plan, worker);
    Kernel(shared, shared.scratch.of_worker(worker)).run(share.begin, share.end);
  }
}

template <class Kernel, class Job>
void in_parallel(const Job& job, const Threads& threads) {
  void* context = const_cast<Job*>(&job);
  if (threads.count <= 1 || job.plan.workers == 1) {
    take_shares<Kernel, Job>(context, 0, job.plan.workers);
  } else {
    threads.parallel_for(job.plan.workers, 1, context, take_shares<Kernel, Job>);
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
      chunks,      plan,   job.elements, write_values<Acc>, nullptr, job.in, reinterpret_cast<char*>(job.partials),
      job.scratch, nullptr};
  in_parallel<ColumnsKernel<Op, Acc>>(columns, threads);
}

// The kernel that a plan names, if the operator has it.
template <template <class, class> class Kernel, bool kExists, class Op, class Acc>
bool in_parallel_if(const Job<Op, Acc>& job, const Threads& threads) {
  if constexpr (kExists) in_parallel<Kernel<Op, Acc>>(job, threads);
  return kExists;
}

// Whether there is the kernel.
template <class Op, class Acc>
bool run_job(const Job<Op, Acc>& job, const Threads& threads) {
  constexpr bool kCombinesElements = has_vectors<Op, Acc> && takes_elements<Op, Acc>;
  const CpuPlan& plan = job.plan;
  bool exists = true;
  if (plan.access == Access::Chunks) {
    reduce_chunks(job, threads);
  } else if (plan.access == Access::Bundles) {
    exists = in_parallel_if<BundlesKernel, kCombinesElements>(job, threads);
  } else if (plan.access == Access::Strips) {
    exists = in_parallel_if<StripsKernel, kCombinesElements>(job, threads);
  } else if (plan.access == Access::Segments) {
    exists = in_parallel_if<SegmentsKernel, are_read<Op, Acc>>(job, threads);
  } else if (plan.family == Family::Rows) {
    in_parallel<RowsKernel<Op, Acc>>(job, threads);
  } else if (plan.family == Family::ShortRows) {
    in_parallel<ShortRowsKernel<Op, Acc>>(job, threads);
  } else {
    in_parallel<ColumnsKernel<Op, Acc>>(job, threads);
  }
  if (exists && plan.split > 1) combine_pieces(job);
  return exists;
}

template <class Op, class Acc>
bool reduce_in(const Problem& problem, const CpuPlan& plan, const char* in, char* out, const Scratch& scratch,
               const Threads& threads) {
  const Job<Op, Acc> job{problem,
                         plan,
                         make_elements<Op, Acc>(problem),
                         make_writer<Op, Acc>(problem),
                         make_second_writer<Op, Acc>(problem),
                         in,
                         out,
                         scratch,
                         reinterpret_cast<Acc*>(scratch.partials())};
  return run_job(job, threads);
}

// Reduces blocks of two tensors, of one size: to plan one takes as long as two thousand elements.
template <class Op, class Acc>
class BlockReducer {
 public:
  explicit BlockReducer(const Problem& block)
      : block_(block), plan_(make_plan(block, 1)), scratch_(plan_), elements_(make_elements<Op, Acc>(block)) {}

  // values are what is combined.
  void reduce(const char* in, Acc* values) const {
    run_job(Job<Op, Acc>{block_, plan_, elements_, write_words<Acc>, nullptr, in, reinterpret_cast<char*>(values),
                         scratch_, reinterpret_cast<Acc*>(scratch_.partials())},
            Threads{1, nullptr});
  }

 private:
  const Problem block_;
  const CpuPlan plan_;
  const Scratch scratch_;
  const Elements<Acc> elements_;
};

template <class Op, class Acc>
bool reduce_in(const Problem& problem, const PartnerPlan& plan, const PairBuffers& buffers, const Threads& threads) {
  PairBlocks<Op, Acc, BlockReducer<Op, Acc>>(problem, plan, buffers).run(threads);
  return true;
}

// Calls f(accumulator) of the operator's accumulators for a compute type, if it has them.
template <class Op, class F>
bool with_accumulator(DType compute, F f) {
  switch (compute) {
    case DType::Float32:
      if constexpr (computes_in<Op, float>) return f(accumulator_of<Op, float>());
      break;
    case DType::Float64:
      return f(accumulator_of<Op, double>());
    case DType::Endless:
      if constexpr (computes_in<Op, Endless>) return f(accumulator_of<Op, Endless>());
      break;
    case DType::Int128:
      if constexpr (computes_in<Op, Int128>) return f(Int128());
      break;
    default:
      if constexpr (computes_in<Op, int64_t>) return f(accumulator_of<Op, int64_t>());
  }
  return false;
}

}  // namespace

bool run(const Problem& problem, const CpuPlan& plan, const void* in, void* out, const Scratch& scratch,
         const Threads& threads) {
  return with_operator(problem.op, [&](auto tag) {
    using Op = kernels_of<typename decltype(tag)::type>;
    return with_accumulator<Op>(problem.compute, [&](auto acc) {
      return reduce_in<Op, decltype(acc)>(problem, plan, static_cast<const char*>(in), static_cast<char*>(out), scratch,
                                          threads);
    });
  });
}

bool run_pair(const Problem& problem, const PartnerPlan& plan, const Buffers& b, const Threads& threads) {
  const PairBuffers buffers{static_cast<const char*>(b.in), static_cast<const char*>(b.other), b.counts,
                            static_cast<char*>(b.out), b.rows};
  return with_operator(problem.op, [&](auto tag) {
    using Asked = typename decltype(tag)::type;
    if constexpr (Asked::role == Role::Factor || has_mask<Asked>) {
      using Op = kernels_of<Asked>;
      return with_accumulator<Op>(
          problem.compute, [&](auto acc) { return reduce_in<Op, decltype(acc)>(problem, plan, buffers, threads); });
    }
    return false;
  });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
