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
// Runs of neighbours: the longest elements, and the fewest of them that one of several runs has, but on demand. Shorter
// ones are mostly ends, and one alone is read as fast by elements: (23, 41379, 165) over 0, 2 of bf16, in runs of 23,
// took 197 us by runs and 138 by elements, 10131841 of fp32 13.3 and 12.6; but (9884, 879, 3, 7) of bf16, in runs of
// 879, 115 and 238.
// Of 2 bytes from fewer on: (20000, 3, 443) in full, sliced, took 32.4 us and takes 24.0, (500, 77, 330) 16.9 and 15.2;
// of fp32 32.1 and 32.8, 17.0 and 17.4.
constexpr int64_t kUnorderedElement = 4;
constexpr int64_t unordered_segment_least(int64_t element) { return element <= 2 ? 256 : 512; }
// And of an output, as places in loads that no element has are more of a few chunks: (19819, 3, 2794) over 1, 2 of fp32
// took 164 us, by elements 155.
constexpr int64_t kUnorderedOutputLeast = 1 << 16;
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
// Short rows of fewer elements in all are read one at a time, whatever their layout: that code is the shortest.
constexpr int64_t kScatteredTiny = 1 << 18;

// Of these, columns that 16-byte loads read, of up to 4 bytes an element, of up to 8 elements or of more than 32: (200,
// 1000) over 0 of bf16 took 2.6 us as short rows and takes 1.7, (256, 128) 2.6 and 1.5, (8, 1000) 1.8 and 1.3, of fp32
// 2.2 and 1.6, 2.2 and 1.5, 1.3 and 1.3; but (16, 4096) 1.9 and 2.0, 1.4 and 1.6, (32, 2048) of fp32 1.4 and 1.5.
constexpr int64_t kTinyColumnsElement = 4, kTinyColumnsShort = 8, kTinyColumnsLong = 32;
// From so many bytes an element on, a few neighbours are columns too: (10, 35, 100000, 3) over 0, 2 of fp32 took 147 us
// as rows and takes 131, of bf16 89 and 134.
constexpr int64_t kNotSlenderElement = 4;
// And so many elements of pairs: of up to a chunk they are read as rows from so many in all on. (3000, 500, 10) over 1
// of bf16 took 24.3 us as pairs of columns and takes 17.8, (400, 500, 6) 3.8 and 3.5; but (80, 500, 14) 2.7 and 3.1,
// (3000, 1728, 14) 46 and 60.
constexpr int64_t kSlenderPairsLeast = int64_t{1} << 20;
// Runs of up to so many elements of at least so many outputs, one behind the other, are columns: (100000, 32, 4) over
// 0, 2 of fp32 took 33 us as rows and takes 20, (100000, 16, 4) 18 and 12, (100000, 64, 6) 71 and 52; but (100000, 20,
// 8) 24 and 37, (400000, 10, 7) 49 and 53, (4000, 300, 7) of bf16 15.4 and 16.7.
constexpr int64_t kShortRun = 6, kShortRunNeighbours = 16;

// Fewer outputs than this side by side, read an element at a time, are not columns.
constexpr int64_t kScattered = 128;
// Columns of 9 to 32 elements that 16-byte loads do not read from where they begin, up to so many elements in all:
// lanes share short rows, so that all of a column is under way at once. (32, 150001) over 0 of fp32 took 10.4 us as
// columns and takes 7.8, (20, 600001) 17.6 and 18.7; (12, 150001) of bf16 5.6 and 4.3, (17, 150001) 5.7 and 6.1; (20,
// 600001) of fp64 40.7 and 26.4.
constexpr int64_t short_columns_most(int64_t element) {
  return int64_t{1} << (element <= 2 ? 21 : element == 4 ? 23 : 25);
}
// The same of half a chunk, from so many outputs on, below which the CTAs of columns meet in clusters: (272, 3751) over
// 0 of bf16 took 6.7 us and takes 4.8, of fp32 5.9 and 5.1, (400, 1877) 5.4 and 4.4, 5.6 and 4.6; but (700, 1877) 5.7
// and 5.6, 5.7 and 6.1, (272, 501) 2.7 and 3.3, and of fp64 (272, 3749) 6.7 and 7.5.
constexpr int64_t kHalfChunkOutputs = 1024, kHalfChunk = 512, kHalfChunkElement = 4;

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
// By such loads only of so many elements in all, and columns that fill so many loads: small tensors wait for code, of
// which these have most, and of few lanes side by side the last one's load is much. (20, 16873) over 0 of bf16 took 3.1
// us, by elements 2.9; (3, 7, 1, 13, 4806) over 4 of fp32, whose 13 columns lie side by side, 6.2 and 5.2. Columns of a
// part of a chunk have loads for all of it: (16, 1876, 2, 17) over 0, 3 of fp32 took 7.7, by elements 5.9. But (38457,
// 17, 2) over 1 of bf16 took 4.5 and 6.4.
constexpr int64_t kColumnsUnalignedLeast = int64_t{1} << 19;
constexpr int64_t kColumnsUnalignedPartLeast = int64_t{3} << 19;
// And where they are read in pairs: (654, 2846) over 0 of bf16 took 5.0 us, and in pairs, uncut, takes 4.2 to 4.5.
constexpr int64_t kColumnsUnalignedPairsLeast = int64_t{1} << 21;
constexpr int64_t kColumnsUnalignedVectors = 4;
// Columns in pairs where 16-byte loads take none: (24, 130, 5, 494) over 0, 2 of bf16, permuted, took 18.4 us by single
// ones and takes 12.8, (233727, 35, 4, 10) over 0, 3 333 and 238; but two columns of 6292 elements 2.4 and 2.7.
constexpr int64_t kColumnsPairsLeast = int64_t{1} << 18;
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
// Loads in flight per thread. Lines of fewer elements are no faster than rows ((8, 16000000) of bf16, transposed, took
// 407 us, by rows 342), so they are only taken on demand.
constexpr int kTilesBatch = 16;
// Elements of an output, below which one launch of another family is faster; and in all, below which rows are, as more
// CTAs share the work: (35, 27, 189) of bf16, the last two transposed, took 8.5 us, by rows 4.4.
constexpr int64_t kTilesLeast = 1 << 12;
constexpr int64_t kTilesLeastInAll = 1 << 18;
// Sectors that 32 neighbours of a row lie in, up to which rows are faster, as they are where a chunk is made of so many
// bytes side by side: (2, 4233607) of bf16, transposed, took 34 us, by rows 12; (962, 1252, 17, 3) of fp32, in the
// order 2, 3, 0, 1, 112, by rows 91; (9884, 879, 3, 7) of bf16, in that order, 298, by rows 261.
constexpr int64_t kTilesLeastSectors = 9;
constexpr int64_t kRowsRun = 64;
// Strips: threads that read a row, and neighbouring rows. A row for each lane: 16 rows of fp32 took 128 us where 32
// took 97 ((8192, 8192), transposed).
constexpr int kStripsThreads = 8;
constexpr int kStripsRows = 32;
constexpr int strips_rows(int64_t acc) { return acc > 4 ? kStripsRows / 2 : kStripsRows; }  // by the compute type
constexpr int kStripsLeastRows = 8;
// All elements, below which rows are as fast: (3000, 700) of bf16, transposed, took 18 to 21 us, by rows 14, but
// (52, 50984) 15.9 for 19.6.
constexpr int64_t kStripsLeast = 5 << 19;
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
