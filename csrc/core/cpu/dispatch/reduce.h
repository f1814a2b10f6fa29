// Reductions, scans and maps on the CPU. No PyTorch: the caller brings the thread pool.
#pragma once

#include "core/cpu/job/buffers.h"
#include "core/cpu/job/threads.h"
#include "core/cpu/map/kernels.h"
#include "core/cpu/select/kernels.h"
#include "core/plan/cpu/work.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu {

// Writes every output of the problem. Follows the canonical order in every mode but exact. The work may have been made
// for another number of threads. Strides of an output of superaccumulators count words.
TR_SHARED void reduce(const Work& work, const Buffers& buffers, const Threads& threads);

// Writes every element of the result, and what is asked for of rows.
TR_SHARED void map(const MapProblem& problem, const MapBuffers& buffers, const Threads& threads);
TR_SHARED void map(const ChannelProblem& problem, const ChannelBuffers& buffers, const Threads& threads);

// Writes the indices of every row's selection.
TR_SHARED void select(const Selection& selection, const void* in, int64_t* out, const Threads& threads);

// The instruction sets that the kernels were built for, worst first, and the one in use: the best this machine
// has, unless set. The bits of results do not depend on it. set_capability throws std::invalid_argument for a
// name that is unknown or that this machine does not have.
TR_SHARED const char* capability();
TR_SHARED void set_capability(const char* name);  // "baseline", "avx2", "avx512" or "auto"

}  // namespace torch_reduce::cpu
