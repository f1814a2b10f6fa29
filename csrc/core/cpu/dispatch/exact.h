// Exact sums and means on the CPU. No PyTorch: the caller brings the thread pool.
#pragma once

#include "core/contract/exact/format.h"
#include "core/cpu/dispatch/reduce.h"

namespace torch_reduce::cpu {

struct ExactPlan {
  int64_t group = 1;  // adjacent outputs that one task reduces, so that the cache lines they share are read once
  int64_t groups = 0;
  int64_t split = 1;  // pieces that an output's elements are cut into
  int64_t piece = 0;  // elements of each but the last
  int64_t scratch_bytes = 0;
};
ExactPlan make_exact_plan(const Problem& problem, int threads);

// Writes the correctly rounded sum or mean of every output; with `words`, the normalised words of its superaccumulator,
// next to one another, and strides of the output count words. The input is floating. Any layout.
void reduce_exactly(const Problem& problem, bool words, const void* in, void* out, const Threads& threads);

// Of `count` accumulators of `words` words each: the rounded value over `divisor`; the same value normalised.
void round_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type, void* out);
void normalize_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t* out);

using RunExactly = void(const Problem& problem, const ExactPlan& plan, bool words, const void* in, void* out,
                        const Threads& threads);
namespace baseline {
RunExactly run_exactly;
}
namespace avx2 {
RunExactly run_exactly;
}
namespace avx512 {
RunExactly run_exactly;
}

}  // namespace torch_reduce::cpu
