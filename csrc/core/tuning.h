// Measured constants that shape the compiled kernels, each with its reason. Results do not depend on any of them. Times
// are of an H200. What plans are tuned by is in plan_tuning.h.
#pragma once

#include <cstdint>

namespace torch_reduce::tuning {

// Eight 16-byte loads in flight per thread and registers for 1024 threads per SM. Rejected: 512 threads with registers
// for 1536 per SM, which spill (1.4 x the limit).
constexpr int kRowsWarps = 8;
constexpr int kLoadsInFlight = 8;

constexpr int kRowsCtasAtOnce = 4;
constexpr int kRowsElementwiseCtasAtOnce = 4;
constexpr int kRowsAnywhereSegmentedCtasAtOnce = 3;
// Chunks of a CTA: what shared memory holds.
constexpr int64_t kRowsMostSlots = 4096;

constexpr int kShortRowsWarps = 8;
constexpr int kShortRowsUnroll = 4;
constexpr int kShortRowsElements = 8;  // of a lane, where one would not do and they are read one at a time

// Fewer outputs than this side by side, read an element at a time, are not columns.
constexpr int64_t kScattered = 128;

constexpr int kColumnsWarps = 8;
// Registers for as many CTAs per SM; where a thread has four loads only, more threads must have theirs in flight:
// (3, 2^24) of bf16 took 43 us with four CTAs and 37 us with six.
constexpr int kColumnsCtasAtOnce = 4;
constexpr int kColumnsFewLoadsCtasAtOnce = 6;
constexpr int64_t kLine = 128;
constexpr int64_t kSector = 32;

constexpr int kFinishThreads = 1024;

}  // namespace torch_reduce::tuning
