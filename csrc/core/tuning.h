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
// Of a lane that reads them one at a time: all of a very short row, so that the lanes of a warp read 32 of those. One
// element a lane left (3263801, 3, 2) over the last two, of fp32, transposed, with eight lanes for a row of six.
constexpr int kShortRowsElements = 8;

// Fewer outputs than this side by side, read an element at a time, are not columns.
constexpr int64_t kScattered = 128;

constexpr int kColumnsWarps = 8;
// Registers for as many CTAs per SM; where a thread has four loads only, more threads must have theirs in flight:
// (3, 2^24) of bf16 took 43 us with four CTAs and 37 us with six.
constexpr int kColumnsCtasAtOnce = 4;
constexpr int kColumnsFewLoadsCtasAtOnce = 6;
constexpr int kColumnsElementwiseLoads = 16;  // of single elements, which are few bytes
constexpr int kColumnsElementwiseCtasAtOnce = 3;
constexpr int kColumnsAnywhereCtasAtOnce = 2;  // which have twice as many loads
constexpr int64_t kLine = 128;
constexpr int64_t kSector = 32;

// Reduced dims in another order in memory. Tiles in shared memory: small enough for four CTAs an SM, lines short enough
// for a sector's worth of them to fit.
constexpr int kTilesThreads = 256;
constexpr int kTilesCtasAtOnce = 4;
constexpr int kTilesRows = 16;
constexpr int64_t kTilesBytes = 32 << 10;
constexpr int64_t kTilesInner = 1024;
constexpr int64_t kTilesMostSlots = 256;
// Loads in flight per thread. Lines of fewer elements are no faster than rows ((8, 16000000) of bf16, transposed, took
// 407 us, by rows 342), so they are only taken on demand.
constexpr int kTilesBatch = 16;
// Elements of an output, below which one launch of another family is faster.
constexpr int64_t kTilesLeast = 1 << 12;
// Strips: threads of a row (so many registers hold leaves), loads in flight per thread, and neighbouring rows. A row
// for each lane: 16 rows of fp32 took 128 us where 32 took 97 ((8192, 8192), transposed).
constexpr int kStripsThreads = 8;
constexpr int kStripsLoads = 32;
constexpr int kStripsRows = 32;
constexpr int kStripsLeastRows = 8;
// All elements, below which rows are as fast: (3000, 700) of bf16, transposed, took 18 to 21 us, by rows 14.
constexpr int64_t kStripsLeast = 1 << 22;
// Chunks of a row that a CTA takes, at most; and units of them, at least, as one more is read in part.
constexpr int64_t kStripsRange = 64;
constexpr int64_t kStripsUnits = 4;
constexpr int kStripsMostLogSlots = 4;
constexpr int64_t kStripsCtasPerSm = 8;
// Units are longer than a chunk where these would be more partials for the finish, and rows have so many of them.
constexpr int64_t kStripsPartials = 1 << 16;
constexpr int64_t kStripsLeastUnits = 4;
// Bytes side by side, more than which are no better.
constexpr int64_t kRun = 64;

constexpr int kFinishThreads = 1024;

}  // namespace torch_reduce::tuning
