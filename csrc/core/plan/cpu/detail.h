// What choose.cpp and rows.cpp share.
#pragma once

#include "core/contract/integers.h"
#include "core/plan/cpu/plan.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu {

inline int64_t element_bytes(const Problem& p) { return static_cast<int64_t>(size_of(p.in)); }

// Scratch is whole lines of the cache.
inline int64_t whole_lines(int64_t bytes) { return ceil_div(bytes, kCacheLine) * kCacheLine; }

// The tasks are for so many threads at most, each of which takes about `least` of them at least. What all of them hold
// together is bounded: where it would be too much, fewer work.
void share_out(int threads, int64_t least, CpuPlan& plan);

}  // namespace torch_reduce::cpu
