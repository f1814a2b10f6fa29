// Measured constants of the CPU kernels, each with its reason. Results do not depend on any of them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/contract/order.h"

namespace torch_reduce::cpu {

// Up to here one thread is done before the pool is awake.
constexpr int64_t kParallelAbove = 131072;

// The elements of a task: fewer are not worth handing out.
constexpr int64_t kGrain = 32768;

// More tasks than threads, so that their shares come out even.
constexpr int64_t kTasksPerThread = 4;

// Compute-type bytes of a strip of columns: what one row gives is long enough (8 KiB of fp32) for the hardware
// prefetcher. With half of that, where the partials of the lower tree levels stay in the first cache, (4096, 4096) over
// 0 of bf16 takes 1.2 to 1.6 times as long, (32, 128, 2048) over 1 1.05 to 1.2, (2048, 2048) transposed 1.1.
constexpr int64_t kColumnStripBytes = 8192;

// Fewer columns than this are slow to combine by a loop over them, so their leaves are transposed before the tree; but
// four and eight, of which a loop of constant length is a vector or two: of eight, 36 ns a chunk for 69, with AVX2 6
// for 68.
constexpr int64_t kNarrowColumns = 16;

// From here on a loop over the columns of some rows is long enough to be run row by row; below, rows that follow one
// another in memory are taken as one array.
constexpr int64_t kManyColumns = 256;

// Chunks that are reduced as columns leave a partial each: 4 MiB of fp32.
constexpr int64_t kMostChunkColumns = int64_t{1} << 20;

// What all workers hold together at most.
constexpr int64_t kAllHeldBytes = int64_t{4} << 20;

constexpr int64_t kCacheLine = 64, kPage = 4096;

// A worker's tile of a transposed tensor: 64 KiB, which the second cache holds; more for up to 16 lines, which fill
// cache lines of 4-byte elements, as long as all of them may have as many. A few long lines are better than none: (20,
// 100000) transposed takes 0.73 of the time.
constexpr int64_t kTileBytes = int64_t{64} << 10, kMostTileBytes = int64_t{2} << 20;
constexpr int64_t kFewestTileLines = 4, kEnoughTileLines = 16;

// Outputs made of segments (cpu/rows/segments.h) that are reduced at the same time. Where all elements are held for a
// while, those of a page, which stay in the first cache: with segments of 784 bytes, 32 at once take 1.07 to 1.12 times
// as long as 4. Longer segments, and those that are read in place, gain by the order of memory alone.
constexpr int64_t kFewestSegmentsAtOnce = 4, kMostSegmentsAtOnce = 32;
constexpr int64_t segments_at_once(int64_t elements, int64_t element_size) {
  const int64_t bytes = elements * element_size, in_page = kPage / bytes;
  const bool in_place = elements < kChunk && elements % kLeaves == 0;
  if (in_place || bytes >= kPage || in_page > kMostSegmentsAtOnce) return kMostSegmentsAtOnce;
  return in_page < kFewestSegmentsAtOnce ? kFewestSegmentsAtOnce : in_page;
}

// A line more than a chunk, or the same places of all outputs would share a set of the first cache.
constexpr int64_t segment_held_bytes(int64_t element_size) { return kChunk * element_size + kCacheLine; }

// Bundles of columns (plan/cpu/bundle.h). Times torch's speed, before them and with them, AVX-512 and AVX2: rows of 512
// elements 0.15, 0.70 and 0.12, 0.65; of 768 0.15, 0.72 and 0.13, 0.60; of 1280 0.22, 0.40 and 0.20, 0.42; of 2304
// 0.14, 0.46 and 0.11, 0.45; of 320 0.17, 0.26 and 0.16, 0.26. With more elements of a bundle for one leaf of each
// subtree they lose where rows go by strips: of 12544 0.52 and 0.40. A strip's results are 64 KiB, if nothing else asks
// for fewer: what is read of a line at a time, 8 KB and more, is worth more than results in the first cache (rows of
// 768 0.51 with 4 KiB, 0.72 with 16 KiB; of 2304 0.28 and 0.25, with 64 KiB 0.46).
constexpr int64_t kMostBundleColumns = 16, kMostBundleElements = 128;
constexpr int64_t kFewestBundles = 16;  // a vector of them
constexpr int64_t kBundleBytes = int64_t{64} << 10;
constexpr int64_t kBundleRows = 10;  // results of a strip that wait at a time: a tree's levels and those to come

// Rows of a strip: four cache lines of 4-byte elements, as rows that do not begin with a line share theirs. Vectors of
// them take turns of 64 lines: with 16, (1000, 1000) transposed takes 1.2 times as long with AVX2, and all of 256 lines
// are no faster where data come from the third cache.
constexpr int64_t kStripRows = 64, kFewestStripRows = 16;
constexpr int64_t kStripLines = 64;

// Shorter rows end in too many others. Where fewer lines than these are a group, leaves are combined one by one: (1000,
// 1001) transposed takes 1.1 times as long as by tiles.
constexpr int64_t kFewestStripElements = 256, kFewestStripGroup = 4;

// From here on every line is in a page of its own, and tiles, which fetch ahead, take 0.7 to 1.4 of the time of strips
// with AVX-512 and 0.4 to 0.7 with AVX2, the less of it the larger the tensor is.
constexpr int64_t kFarStripStride = kPage;

// How often an element is read at most. With AVX-512, which has twice the rows in a vector, strips take 0.5 to 0.8 of
// the time of tiles up to 1.6 (rows of 1000, 2000, 2500, 3136 and 7000 elements), as long with 1.7 (1500), 1.25 of it
// with 2.3 (784), and 0.5 to 0.75 with 2 where no row has two beginnings (512). With AVX2 0.8 with 1.1 (12544), 1.0
// with 1.3 and 1.4.
constexpr double most_strip_reads(bool wide, int64_t lines) {
  if (!wide) return 1.25;
  return lines == 1024 ? 2 : 1.6;
}

// Of short rows, of columns, and of rows that do not lie in one piece. Prefetching lets one core use more of the
// memory, and costs a tenth where data come from a cache anyway. With AVX-512 ("wide") measured on a machine with 1 MB
// of second and 32 MB of third cache, where above 12 MB (65536, 64) over 1 would take 1.5 of the time and (4096, 1024)
// over 0 1.4; with less on one with 512 KB and 32 MB.
constexpr int64_t prefetch_above(bool wide) { return int64_t{wide ? 24 : 12} << 20; }

constexpr int64_t kBurstBytes = 4096;  // measured with less than AVX-512 alone

// What is read while more is fetched.
enum class Reading {
  Rows,    // some elements at a time, or a few chunks
  Chunks,  // contiguous ones, Steadily
};

// How many bytes ahead. 2-byte types take longer for the same bytes, and want it from further.
constexpr int64_t fetch_distance(Reading reading, int64_t element_size, bool wide) {
  if (wide && reading != Reading::Chunks && element_size > 2) return 2048;
  if (reading == Reading::Rows && element_size > 2) return 6144;
  return 8192;
}

// What is fetched while contiguous chunks are read.
enum class Ahead {
  Nothing,
  Steadily,  // lines further on, some for as many that are read
  Touched,   // a chunk's own lines, those of a page at least, in the order of memory, just before they are read
  Loaded,    // the same by loads, not prefetches
};

// A chunk is read in four places at once, which the hardware's prefetchers do not follow as they do a loop in the order
// of memory. They do if all of its lines are asked for by one instruction in that order, and not if lines further on
// are: GB/s where nothing is fetched, in bursts of 4 KiB as far ahead, steadily from 8 KiB ahead, Touched, Loaded, and
// by a loop that adds four vectors at a time:
//   with AVX2 fp32 of 4 MB   78 79 80 83 73 94   of 16 MB 63 74 66 77 67 77   of 64 MB 13 25 16 30 29 28
//             bf16 of 4 MB   47 52 62 54 53 48   of 16 MB 34 52 55 50 50 47   of 32 MB  9 15 18 21 28 34
//             fp16 of 4 MB   44 45 51 46 46 56   of 16 MB 33 39 49 41 45 55   of 32 MB 11 15 18 18 33 36
//             fp64 of 4 MB   60 57 62 53 50 76   of 16 MB 47 69 60 60 55 74   of 32 MB 19 28 20 25 32 44
//   AVX-512   bf16 of 4 MB   67 68 67 68 60 56   of 16 MB 52 59 55 60 54 55   of 32 MB 19 29 20 30 32 37
//             fp64 of 4 MB   83 70 84 80 70 93   of 16 MB 59 54 66 69 58 70   of 32 MB 26 23 31 34 35 44
// Loaded two chunks of 2-byte elements at a time, which are a page, in a run of its own: AVX2 bf16 of 24 MB 27 to 31
// for 15, of 64 MB 23 for 12; AVX-512 bf16 of 32 MB 37 for 35; four or eight together 0.6 to 0.9 of that. With AVX-512
// fp32 has an order of its own, and nothing is fetched (cpu/tree/rolled.h).
constexpr int64_t kInSecondCache = int64_t{256} << 10, kInThirdCache = int64_t{20} << 20;
constexpr Ahead ahead_of_chunks(int64_t element_size, int64_t bytes, bool wide) {
  if (element_size != 4 && bytes > kInThirdCache) return Ahead::Loaded;
  if (wide || element_size >= 4) {
    if (bytes > int64_t{12} << 20) return Ahead::Touched;
    return !wide && element_size == 4 && bytes > 3 * kInSecondCache ? Ahead::Steadily : Ahead::Nothing;
  }
  return bytes > kInSecondCache ? Ahead::Steadily : Ahead::Nothing;
}

// Blocks of columns (cpu/columns/blocks.h) are as many bytes of a row. With 128 where 256 would do, bf16 takes 1.1 of
// the time from the second cache.
constexpr int64_t kBlockBytes = 256, kFewestBlockBytes = 128;

// The larger of them with which at most a third more than a row is read, as the last block begins before the one before
// it ends; else 0. Extremes have small ones.
constexpr int64_t block_bytes(int64_t row_bytes, bool is_extreme) {
  for (const int64_t block : {kBlockBytes, kFewestBlockBytes}) {
    const bool fits = row_bytes >= block && 3 * ((row_bytes + block - 1) / block * block) <= 4 * row_bytes;
    if (fits && !(is_extreme && block == kBlockBytes)) return block;
  }
  return 0;
}

// How many rows a chunk has at least that goes by blocks, of rows `pitch` bytes apart; 0: none does. Times the speed of
// some rows at a time, with AVX-512: 1 and 4 MB of fp32, 1 to 3 KB in a row, 1.15 to 1.5, of bf16 1.3 to 1.4; rows of
// 64 columns 1.2 to 2.4; `amax` 1.05 to 1.45, of bf16 1.5 to 1.9; with AVX2 1.14 to 1.8. From memory bf16 and `amax`
// 0.5 to 0.95, as the hardware does not see far enough ahead in pieces of rows; rows of a page 0.5 to 0.7; 8 rows 0.9,
// of `amax` 0.6.
constexpr int64_t fewest_block_rows(int64_t pitch, int64_t row_bytes, int64_t element_size, bool is_extreme,
                                    int64_t expected_bytes) {
  const int64_t most_bytes = is_extreme || element_size < 4 ? int64_t{12} << 20 : kInThirdCache;
  const bool is_close = pitch > 0 && pitch <= 3072 && expected_bytes <= most_bytes;
  return !is_close || block_bytes(row_bytes, is_extreme) == 0 ? 0 : is_extreme ? 32 : 16;
}

// Whether segments of outputs are fetched ahead, which are too short for the hardware to follow.
constexpr bool fetches_segments(int64_t element_size, int64_t bytes, bool wide) {
  return (wide && element_size == 4) || ahead_of_chunks(element_size, bytes, wide) != Ahead::Nothing;
}

// Rows of columns that are fetched while as many are read, where the first cache has 32 KB: (2048, 2048) transposed
// takes 1.2 times as long if rows of 32 KB are, and (128, 128, 256) over 1 0.78 of the time if rows of 8 KB are.
constexpr int64_t kMostRowsAhead = 16384;

// A chunk of several columns is read in four places at once. Chunks of 8, 4 and 2 columns of fp32 in 64 MB, GB/s with
// this and with nothing: AVX2 28 and 26, 32 and 24, 26 and 15; AVX-512 20 and 25, 20 and 24, 20 and 17.
constexpr int64_t chunk_prefetch(bool wide) { return wide ? 0 : 12288; }

}  // namespace torch_reduce::cpu
