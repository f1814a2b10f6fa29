// Measured constants, each with its reason. Results do not depend on any of them.
#pragma once

#include <cstdint>

namespace torch_reduce::tuning {

// Eight 16-byte loads in flight per thread and registers for 1024 threads per SM. Rejected on an H200: 512 threads with
// registers for 1536 per SM, which spill (1.4 x the limit).
constexpr int kRowsWarps = 8;
constexpr int kLoadsInFlight = 8;

constexpr int kRowsCtasAtOnce = 4;
// A split row's CTAs take more chunks each from this many CTAs on: each one's partial costs the finish, or an atomic.
constexpr int64_t kRowsCtas = 4096;
// Where an atomic needs a ticket too, fewer: 2^26 bf16 took 39 us with 4096 CTAs and 37 us with 2048.
constexpr int64_t kRowsTicketCtas = 2048;
constexpr int64_t kRowsMaxSlots = 64;

// Fewer outputs than this per SM leave the last wave of CTAs half empty, so their rows are split.
constexpr int kSplitBelowRowsPerSm = 4;

constexpr int kColumnsWarps = 8;
// Columns are cut until there are this many CTAs per SM ...
constexpr int kColumnsCtasPerSm = 6;
// ... and a lane takes at most this many batches between barriers.
constexpr int kColumnsMaxBatches = 8;
// Shared memory of a CTA for them: three CTAs fit an SM of any supported architecture.
constexpr int64_t kColumnsShared = 32 << 10;
// Tiles get narrower, down to a cache line, until an output has at most this many partials ...
constexpr int64_t kColumnsFewUnits = 16;
constexpr int64_t kLine = 128;
// ... and down to a memory sector in problems of at most so many bytes, if that spares the second pass.
constexpr int64_t kColumnsSmall = 4 << 20;
constexpr int64_t kSector = 32;
constexpr int kShortRowsWarps = 8;
constexpr int kShortRowsUnroll = 4;

constexpr int kFinishThreads = 1024;
// Up to this many outputs get a CTA each for their partials.
constexpr int64_t kFinishFewOutputs = 128;

}  // namespace torch_reduce::tuning
