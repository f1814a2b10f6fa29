// Measured constants that shape the compiled kernels, each with its reason. Results do not depend on any of them. Times
// are of an H200. What plans are tuned by is in gpu.h.
#pragma once

#include <cstdint>

#include "core/contract/integers.h"

namespace torch_reduce::tuning {

// Eight 16-byte loads in flight per thread and registers for 1024 threads per SM. Rejected: 512 threads with registers
// for 1536 per SM, which spill (1.4 x the limit).
constexpr int kRowsWarps = 8;
constexpr int kLoadsInFlight = 8;

constexpr int kRowsCtasAtOnce = 4;
constexpr int kRowsElementwiseCtasAtOnce = 4;
constexpr int kRowsUnalignedSegmentedCtasAtOnce = 3;
// Of a CTA of a cluster, which has an SM to itself. 2^18 elements of fp32 took 2.8 us by two kernels, and take 2.6;
// twice as many took 3.0, and by 32 warps 3.65.
constexpr int kRowsWarpsInCluster = 2 * kRowsWarps;
// The widest elements that 16-byte loads read from anywhere, in bytes. A row of wider ones is read as fast by elements.
constexpr int64_t kRowsUnalignedElement = 2;
// The shortest segments: a chunk that lies in two of them takes as long as several others. (9336, 443) of bf16, in 443
// segments, took 20.5 us, and by elements 17.1.
constexpr int64_t kRowsUnalignedSegment = int64_t{16} << 10;
// The widest elements of segments that are read in any order: others are read as fast by elements.
constexpr int64_t kUnorderedElement = 4;
// Chunks of a CTA: what shared memory holds of values of `acc` bytes.
constexpr int64_t rows_most_slots(int64_t acc) { return acc <= 8 ? 4096 : power_of_two_below((32 << 10) / acc); }
// Shorter segments of several outputs lie between one another in what memory delivers at once, so that units of all
// outputs go together: (300000, 10, 16) over 0, 2 of fp32 took 76 us without.
constexpr int64_t kInterleavedSegment = 256;

constexpr int kShortRowsWarps = 8;
constexpr int kShortRowsUnroll = 4;
constexpr int64_t kShortRowsCtasPerSm = 4;  // rows for more than so many, one to a group of lanes, are many
// Of a row, those of a lane that reads them one at a time. One element a lane left (3263801, 3, 2) over the last two,
// of fp32, transposed, with eight lanes for a row of six.
constexpr int kShortRowsElements = 8;
// Where there are many rows, so many are a lane's that takes so many elements of each: 8 to 16 loads in flight. Six, of
// one row, left (3263801, 3, 2) at 42 us for 29.
constexpr int scattered_rows_of_lane(int elements) { return elements == 1 ? 8 : 16 / elements; }
// Outputs of one element: a tile's rows, of a warp's width, and its warps, so eight loads in flight for each thread.
// Tiles that are mostly empty, and small tensors, are short rows as others.
constexpr int kCopiesWarps = 8;
constexpr int kCopiesRows = 64;
constexpr int64_t kCopiesLeast = int64_t{1} << 18;

constexpr int64_t kSharedReserved = 1 << 10;  // what the system takes of each CTA's shared memory, in bytes

constexpr int kColumnsWarps = 8;
constexpr int kColumnsElementwiseLoads = 16;  // of single elements, which are few bytes
// Registers for as many CTAs per SM, by the bytes of a thread's columns in the compute type and by its loads. With
// four, columns that begin anywhere spill.
constexpr int kColumnsCtasAtOnce = 4;
constexpr int columns_ctas_at_once(bool anywhere, int64_t column_bytes, int loads) {
  return column_bytes > 64 ? 2 : anywhere || column_bytes > 32 || loads > kLoadsInFlight ? 3 : kColumnsCtasAtOnce;
}
constexpr int64_t kColumnsUnalignedElement = 4;  // as kRowsUnalignedElement
// Of more bytes than so many times what is small, columns read by elements have as many times the CTAs: (4, 54234, 6,
// 753) over 1, 3 of bf16, across memory, took 3,618 us with 624 of them and 2,395 with 16,384. Up to that size, columns
// that begin anywhere have no more than this, as the second pass reads what they leave: (10158, 669) over 1 of bf16
// took 9.7 us with 656 and 8.8 with 328. Of many times more than that size they have as many as those read by elements:
// (5, 7, 21198, 1270) over 0 to 2 of fp32 took 942 us with 506 and takes 873 with 3993, (65536, 1002) over 0 67 and 69.
constexpr int64_t kColumnsLarge = 4, kColumnsHuge = 256;
constexpr int64_t kColumnsWaves = 8;
constexpr int64_t kColumnsUnalignedCtasPerSm = 2;
// Columns by 16-byte loads are in one launch, uncut or in clusters, up to so many times what is small: (4096, 512) over
// 0 of fp32 took 5.1 us by two and takes 4.4, (8192, 256) of bf16 5.1 and 3.7, (4096, 4096) 11.5 and 10.0, (1024, 2048)
// of int32, uncut, 5.3 and 4.1.
constexpr int64_t kColumnsOnceMost = 8;
// But only where the busiest CTA reads no more than what is small of an SM, by so many quarters, and its share of
// the tensor if it is wide, or half of that: (65536, 16) of bf16, of which 16 CTAs would read 128 KiB each, took 3.4 us
// by two launches and 4.4 by one, (32768, 256) 7.5 and 8.4, (43082, 202), anywhere, 9.0 and 36.6; but also (8192,
// 1024) 7.7 and 7.5. By atomic adds (16384, 128) of fp32 takes 4.6 us and by one launch 5.2, (4096, 1536) 8.3 and 8.4
// to 10.5; but (4096, 640) 5.4 and 4.9.
constexpr int64_t kColumnsOnceWide = 10, kColumnsOnce = 6, kColumnsOnceWideOrAdds = 8, kColumnsOnceOrAdds = 3;
// Tiles are made wider until a cluster has more than half of so many CTAs: (4096, 512) of fp32 took 4.3 us by eight of
// 128 bytes, 4.65 by four of 64; but (8192, 256) of bf16 3.7 by 16 of 64, 3.8 by 16 of 128 on half as many SMs.
constexpr int64_t kColumnsUnitsInCluster = 8;
// What the units of a cluster may leave to one another, in bytes. Sums of int8 are eight times as large as what they
// are of: (2048, 3072) took 4.3 us by four units of 128 columns and 4.6 by eight of 256, which leave 16 KiB.
constexpr int64_t kColumnsMeetingMost = 16 << 10;
// And a unit of columns in two launches, whose tiles are so narrow: (2048, 8193) of int8 took 10.2 us by eight units of
// 240 columns and 12.0 by 16 of 496.
constexpr int64_t kColumnsPartialRow = 2048;
// Of a CTA of contiguous columns in a cluster, which has an SM to itself: (8192, 768) of bf16 took 6.5 us with
// eight, 5.6 with these. Where two share an SM, (4096, 1024) 4.8 and 5.3.
constexpr int kColumnsWarpsInCluster = 2 * kColumnsWarps;
// Columns whose warps take so many batches of loads are not cut if their CTAs could not meet in a cluster: the second
// pass takes longer. (80, 1728, 16) over 1 of bf16 took 5.3 us cut in two and takes 3.3, (80, 500, 14) 4.3 and 2.7,
// (80, 1728, 14) in four 5.4 and 4.4, but (80, 5000, 16), of five batches, 7.2 and 8.1; (80, 500, 6) of fp32 3.4 and
// 2.6, but (80, 2500, 6), of three, 4.8 and 6.6.
constexpr int uncut_log_batches(bool vector, int64_t element) { return vector || element > 2 ? 1 : 2; }
// Columns of up to so many elements are a thread's own. It has few loads, so that more threads must have theirs in
// flight: (3, 2^24) of bf16 took 43 us with registers for four CTAs and 37 us with six.
constexpr int kStackedLeaves = 4;
constexpr int kStackedThreads = 256;
// Of a thread's values: (1, 2660896) over 0 of int8, with 128 bytes of them, spilled and took 80 us for 11.
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
// Strips: threads that read a row, and neighbouring rows. A row for each lane: 16 rows of fp32 took 128 us where 32
// took 97 ((8192, 8192), transposed).
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
// Where rows are whole units, longer ones read nothing twice: (16384, 4096) transposed of bf16, with 65,536 partials,
// took 62 us, and takes 53 with 16,384 that a cluster reads.
constexpr int64_t kStripsWholePartials = 1 << 13;
constexpr int64_t kStripsLeastUnits = 4;
// Bytes side by side, more than which are no better.
constexpr int64_t kRun = 64;

// A kernel of more than 128 CTAs lets the next one come when all have read (allow_next_kernel_if_small), and that is
// one that zeroes, which the next sum waits for. With so many CTAs of rows that share few outputs, partials are faster,
// until the sum is so long that it is all the same. fp32 by atomics and by partials: 2^20 elements (128 CTAs) 3.55
// and 3.60 us, 1,116,193 (137) 4.1 and 3.8, 2^22 6.80 and 6.40, 2^24 17.65 and 17.09, 26,538,945 26.1 and 25.7,
// 46,745,748 43.3 and 43.3, 2^26 60.5 and 60.5. In bytes, the second.
constexpr int64_t kAtomicsZeroedLate = 129, kAtomicsLong = int64_t{128} << 20;

constexpr int kFinishThreads = 1024;
// Units that a thread takes side by side, of `acc` bytes: 64 bytes of them, 16 at a time; and one below the other.
constexpr int64_t finish_side_by_side(int64_t acc) { return power_of_two_below(64 / acc); }
constexpr int64_t finish_vector(int64_t acc) { return power_of_two_below(acc < 16 ? 16 / acc : 1); }
constexpr int kFinishAtOnce = 8;
// The partials of a CTA of a cluster, at least: one CTA took 11 us for 65,536.
constexpr int64_t kFinishUnits = 4096;

}  // namespace torch_reduce::tuning
