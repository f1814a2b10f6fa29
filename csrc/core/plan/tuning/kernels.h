// Measured constants that shape the compiled kernels, each with its reason; figures are in docs/performance.md. Results
// do not depend on any of them. What plans are tuned by is in gpu.h.
#pragma once

#include <cstdint>

#include "core/contract/integers.h"
#include "core/contract/order.h"

namespace torch_reduce::tuning {

// The lanes of a warp. Kernels have it of device/order.cuh, which host code cannot include.
constexpr int kWarp = 32;

// Eight 16-byte loads in flight per thread, and registers for 1024 threads per SM.
constexpr int kRowsWarps = 8;
constexpr int kLoadsInFlight = 8;

constexpr int kRowsCtasAtOnce = 4;
constexpr int kRowsElementwiseCtasAtOnce = 4;
constexpr int kRowsUnalignedSegmentedCtasAtOnce = 3;
// Of a CTA of a cluster, which has an SM to itself.
constexpr int kRowsWarpsInCluster = 2 * kRowsWarps;
// The widest elements that 16-byte loads read from anywhere, in bytes. A row of wider ones is read as fast by elements.
constexpr int64_t kRowsUnalignedElement = 2;
// The shortest segments: a chunk that lies in two of them takes as long as several others.
constexpr int64_t kRowsUnalignedSegment = int64_t{16} << 10;
// The widest elements of segments that are read in any order: others are read as fast by elements.
constexpr int64_t kUnorderedElement = 4;
// Chunks of a CTA: what shared memory holds of values of `acc` bytes.
constexpr int64_t rows_most_slots(int64_t acc) { return acc <= 8 ? 4096 : power_of_two_below((32 << 10) / acc); }
// Shorter segments of several outputs lie between one another in what memory delivers at once, so that units of all
// outputs go together.
constexpr int64_t kInterleavedSegment = 256;

constexpr int kShortRowsWarps = 8;
constexpr int kShortRowsUnroll = 4;
constexpr int64_t kShortRowsCtasPerSm = 4;  // rows for more than so many, one to a group of lanes, are many
// Of a row, those of a lane that reads them one at a time: a lane has a whole row, where lanes would share a short one.
constexpr int kShortRowsElements = 8;
// The longest unaligned rows that are staged, where vectors read none: rows of four steps are read as fast as they lie.
constexpr int64_t kStagedElements = 3 * kLeaves;
// And those of the most bytes: two for each of eight warps, and 16 bytes at either end, are the 48 KiB that a CTA has
// without an attribute.
constexpr int64_t kStagedBytes = (48 << 10) / (2 * kShortRowsWarps) - 32;
// Where there are many rows, so many are a lane's that takes so many elements of each: 8 to 16 loads in flight.
constexpr int scattered_rows_of_lane(int elements) { return elements == 1 ? 8 : 16 / elements; }
// Outputs of one element: a tile's rows, of a warp's width, and its warps, so eight loads in flight for each thread.
// Tiles that are mostly empty, and small tensors, are short rows as others.
constexpr int kCopiesWarps = 8;
constexpr int kCopiesRows = 64;
constexpr int64_t kCopiesLeast = int64_t{1} << 18;

constexpr int64_t kSharedReserved = 1 << 10;  // what the system takes of each CTA's shared memory, in bytes

constexpr int kColumnsWarps = 8;
constexpr int kColumnsElementwiseLoads = 16;  // of single elements, which are few bytes
// Registers for as many CTAs per SM, by the bytes of a lane's columns in accumulators, by its loads and by whether they
// are of two tensors. With four, unaligned columns spill.
constexpr int kColumnsCtasAtOnce = 4;
constexpr int columns_ctas_at_once(bool unaligned, int64_t column_bytes, int loads, bool two) {
  return column_bytes > 64 || two                                   ? 2
         : unaligned || column_bytes > 32 || loads > kLoadsInFlight ? 3
                                                                    : kColumnsCtasAtOnce;
}
// Of plain products, whose lanes have much to do where they meet: larger batches, which meet less often.
constexpr int kColumnsPlainLoads = 2 * kLoadsInFlight, kColumnsPlainCtasAtOnce = 2;
constexpr int64_t kColumnsUnalignedElement = 4;  // as kRowsUnalignedElement
// Of more bytes than so many times what is small, columns read by elements have as many times the CTAs: caches serve a
// short CTA better.
constexpr int64_t kColumnsLarge = 4;
constexpr int64_t kColumnsWaves = 8;
constexpr int64_t kColumnsUnalignedCtasPerSm = 2;
// Columns by 16-byte loads are in one launch, uncut or in clusters, up to so many times what is small.
constexpr int64_t kColumnsOnceMost = 8;
// But only where the busiest CTA reads no more than what is small of an SM, by so many quarters, and its share of the
// tensor if it is wide, or half of that. Less where units are added atomically, as that needs no second pass.
constexpr int64_t kColumnsOnceWide = 10, kColumnsOnce = 6, kColumnsOnceWideOrAdds = 8, kColumnsOnceOrAdds = 3;
// Tiles are made wider until a cluster has more than half of so many CTAs.
constexpr int64_t kColumnsUnitsInCluster = 8;
// What the units of a cluster may leave to one another, in bytes: sums of bytes are eight times as large as these.
constexpr int64_t kColumnsMeetingMost = 16 << 10;
// And a unit of columns in two launches, whose tiles are so narrow.
constexpr int64_t kColumnsPartialRow = 2048;
// Of a CTA of contiguous columns in a cluster, which has an SM to itself.
constexpr int kColumnsWarpsInCluster = 2 * kColumnsWarps;
// Columns whose warps take so many batches of loads are not cut if their CTAs could not meet in a cluster: the second
// pass takes longer.
constexpr int uncut_log_batches(bool vector, int64_t element) { return vector || element <= 2 ? 2 : 1; }
// Columns of up to so many elements are a thread's own. It has few loads, so that more threads must have theirs in
// flight.
constexpr int kStackedLeaves = 4;
constexpr int kStackedThreads = 256;
// Of a thread's values, which more of would spill.
constexpr int64_t kStackedBytes = 64;
constexpr int kStackedCtasAtOnce = 6;
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
// Loads in flight per thread.
constexpr int kTilesBatch = 16;
// Strips: threads that read a row, and neighbouring rows.
constexpr int kStripsThreads = 8;
constexpr int kStripsRows = 32;
constexpr int strips_rows(int64_t acc) { return acc > 4 ? kStripsRows / 2 : kStripsRows; }  // by the compute type
constexpr int kStripsLeastRows = 8;
// Chunks of a row that a CTA takes, at most; and units of them, at least, as one more is read in part.
constexpr int64_t kStripsRange = 64;
constexpr int64_t kStripsUnits = 4;
constexpr int kStripsMostLogSlots = 4;
constexpr int64_t kStripsCtasPerSm = 8;
// Units are longer than a chunk where these would be more partials for the finish, and rows have so many of them.
constexpr int64_t kStripsPartials = 1 << 16;
// Where rows are whole units, longer ones read nothing twice, and a cluster reads the partials.
constexpr int64_t kStripsWholePartials = 1 << 13;
constexpr int64_t kStripsLeastUnits = 4;
// Bytes side by side, more than which are no better.
constexpr int64_t kRun = 64;

// Scans: shared memory of a CTA's places, and warps that share it, by the bytes of an accumulator, of which a lane
// holds some thirty, or some sixty of those of four bytes; the logarithm of a lane's neighbours.
constexpr int64_t kScanShared = 32 << 10;
constexpr int kLogScanLane = 3;
constexpr int scan_warps(int64_t acc) { return acc <= 8 ? 8 : static_cast<int>(64 / acc); }
constexpr int kScanCtasAtOnce = 3;

constexpr int kFinishThreads = 1024;
// Units that a thread takes side by side, of `acc` bytes: 64 bytes of them, 16 at a time; and one below the other.
constexpr int64_t finish_side_by_side(int64_t acc) { return power_of_two_below(64 / acc); }
constexpr int64_t finish_vector(int64_t acc) { return power_of_two_below(acc < 16 ? 16 / acc : 1); }
constexpr int kFinishAtOnce = 8;
constexpr int kFinishLevels = 8;  // of a thread's tree over those that it takes at once
// The partials of a CTA of a cluster, at least.
constexpr int64_t kFinishUnits = 4096;

}  // namespace torch_reduce::tuning
