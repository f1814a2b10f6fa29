// Constants of the exact kernels. Those of the method have a bound that keeps it exact; the others are measured.
#pragma once

#include <algorithm>

#include "core/contract/types.h"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::exact {

// A slice has 50 bits and a sign, so the bits of M + x for |x| < 2^(w+50) are those of M but for the last 51 ...
constexpr int kSliceBits = 50;
// ... and a lane adds up to 2^12 of them in 63 bits.
constexpr int64_t kMostAdds = 1 << 12;
// The first slices of lanes that share a column add up in 63 bits, as in units of 2^w elements are below 2^47.
constexpr int kMostAddsOfWarp = 1 << 15;
inline int most_adds(int lanes) { return std::min(static_cast<int>(kMostAdds), kMostAddsOfWarp / lanes); }
// A short row's elements, up to 2^8 multiples of 2^w below 2^(w+44), add in a double's 53 bits.
constexpr int kShortBits = 44;
// A window is set so many octaves above the largest element so far, so that the next tile seldom asks for another.
constexpr int kSlack = 4;
// It is lowered where elements are so many octaves below: the first slice alone should do.
constexpr int kLower = 14;

constexpr int kWarps = 8;
// Of a warp's superaccumulator. fp64 elements that no window takes are added by single lanes, which share the copies.
TR_HD constexpr int copies_per_warp(DType in) { return in == DType::Float64 ? 2 : 1; }
// From so many rows per SM on a warp has one or several; below, up to kWarps have one.
constexpr int64_t kRowsPerSm = 16;
constexpr int kWarpRowsWarps = 2;       // of a CTA: short ones balance better
constexpr int kWarpRowsCtasPerSm = 12;  // that registers should do for
// A warp has so many rows that the GPU is filled so often: fewer rows make the GPU level its SMs, more hide the wait
// for memory.
constexpr int64_t kWarpRowsRounds = 5, kMostWarpRows = 8;
// Up to so many rows per SM a row has all warps of an SM, in one CTA: these take its tiles as they come for them, and
// end at the same time. A row has several CTAs where they fit the GPU, and no more: every CTA begins with no load under
// way.
constexpr int64_t kRowsMostWide = 2;
constexpr int kRowsWarps = 16;
// CTAs to a row: the second kernel has a thread for what each leaves.
constexpr int64_t kMostUnits = 160;
// Loads of a lane in a tile, of 16 bytes or of an element; those of the next tile are under way at the same time.
constexpr int kRowsLoads = 4;
constexpr int kRowsMostLoads = 8;           // where a warp has at least
constexpr int64_t kRowsMostLoadsTiles = 4;  // so many tiles, and is one of the 16 of its SM
constexpr int kRowsElements = 16;
// The same of products, whose loads are of two tensors: those of 16 bits leave registers for more.
constexpr int kProductLoads = 2;
TR_HD constexpr int product_most_loads(DType in) { return in == DType::Float32 ? kProductLoads : 2 * kProductLoads; }
// Short rows of products: of 16 bits, of which float slices hold many; rows that a group of lanes has side by side.
TR_HD constexpr bool have_short_products(DType in) { return size_of(in) == 2; }
constexpr int kShortProductsRows = 4, kShortProductsCtasPerSm = 4;

// Of products read by single elements: a CTA's warps, and as many CTAs on an SM as registers do for. A warp has an
// output of up to so many products, and a CTA a unit of about so many at least.
constexpr int kElementProductsWarps = 8;
constexpr int kElementProductsCtasPerSm = 2, kElementProductsFewCtasPerSm = 4;
constexpr int64_t kElementProductsOfWarp = 1 << 10, kElementProductsOfCta = 1 << 12;
// Outputs that a warp or a CTA has side by side where memory delivers as many at once, or where they have so few
// products each; and a lane's loads of each tensor.
constexpr int kElementProductsAcross = 4;
constexpr int64_t kElementProductsOfFour = 128;
TR_HD constexpr int element_products_loads(int across, DType in) { return across > 1 && in == DType::Float64 ? 4 : 8; }
// Many outputs of so many have a lane each; and the warps that add up the units of one.
constexpr int64_t kElementProductsOfLane = 32;
constexpr int kElementProductsFinishWarps = 32;

// Rows of up to so many elements share a warp, also where 16 bytes at a time would take one for each.
constexpr int64_t kShortRowsMost = 128;
// Rows that a group of lanes takes side by side; elements of a lane are loads of their own where they are read singly.
TR_HD constexpr int short_rows_unroll(int loads) { return loads > 1 ? 2 : tuning::kShortRowsUnroll; }

// Columns have a lane to themselves if they have few elements, or if their lanes fill the GPU.
constexpr int64_t kDirectRows = 16;
constexpr int64_t kDirectSomeRows = 64, kDirectSomeLanesPerSm = 192;
constexpr int64_t kDirectMostRows = 1 << 10, kDirectLanesPerSm = 1024;
// Elements that are not read 16 bytes at a time are columns from so many bytes up: their CTAs take longer to begin.
constexpr int64_t kColumnsLeastBytes = 1 << 18;
// Of a lane in a tile; those of the next tile are under way.
constexpr int kColumnsLoads = 8;
constexpr int kShortColumnsLoads = 4;
constexpr int64_t kColumnsCtasPerSm = 2;
// Where CTAs share columns, a second kernel adds up what they leave, a thread what one of them does.
constexpr int kFinishColumnsThreads = 1024;
constexpr int64_t kMostColumnUnits = 1 << 10;  // so many of their integers' pieces add up in 32 bits
// Columns side by side there, at least: a sector of memory.
constexpr int kFinishColumnsLeastLogAcross = 2;

// Columns' slices are added up as integers of 128 bits and a sign: n of 50 bits, the second slice's 50 below, and these
// octaves between windows.
inline int most_apart(int64_t n) {
  int bits = 127 - 2 * kSliceBits - 1;
  while (bits > 0 && n > 1) n = (n + 1) / 2, --bits;
  return bits;
}

}  // namespace torch_reduce::exact
