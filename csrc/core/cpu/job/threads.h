// The thread pool that the caller brings.
#pragma once

#include <cstdint>

namespace torch_reduce::cpu {

// Runs task(context, begin, end) over pieces of [0, count), in any order and on any threads, and returns when
// all are done. Pieces hold at least `grain` indices where count allows it.
using Task = void (*)(void* context, int64_t begin, int64_t end);
using ParallelFor = void (*)(int64_t count, int64_t grain, void* context, Task task);

struct Threads {
  int count;  // how many threads parallel_for may use
  ParallelFor parallel_for;
};

}  // namespace torch_reduce::cpu
