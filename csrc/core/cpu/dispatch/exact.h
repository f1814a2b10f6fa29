// Exact sums and means on the CPU. No PyTorch: the caller brings the thread pool.
#pragma once

#include "core/cpu/job/threads.h"
#include "core/plan/cpu/exact.h"

namespace torch_reduce::cpu {

// Writes the correctly rounded sum or mean of every output; with `words`, the normalised words of its superaccumulator,
// next to one another, and strides of the output count words. The input is floating. Any layout.
void reduce_exactly(const Problem& problem, bool words, const void* in, void* out, const Threads& threads);

// Of `count` accumulators of `words` words each: the rounded value over `divisor`; the same value normalised.
void round_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type, void* out);
void normalize_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t* out);

}  // namespace torch_reduce::cpu
