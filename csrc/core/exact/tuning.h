// Constants of the exact kernels. Those of the method have a bound that keeps it exact; the others are measured.
#pragma once

#include "../types.h"

namespace torch_reduce::exact {

// A slice has 50 bits and a sign, so the bits of M + x for |x| < 2^(w+50) are those of M but for the last 51 ...
constexpr int kSliceBits = 50;
// ... and a lane adds up to 2^12 of them in 63 bits.
constexpr int64_t kMostAdds = 1 << 12;
// A short row's elements, up to 2^8 multiples of 2^w below 2^(w+44), add in a double's 53 bits.
constexpr int kShortBits = 44;
// A window is set so many octaves above the largest element so far, so that the next tile seldom asks for another.
constexpr int kSlack = 4;
// It is lowered where elements are so many octaves below: the first slice alone should do.
constexpr int kLower = 14;

constexpr int kWarps = 8;
constexpr int kTeamlessWarps = 2;  // of a CTA whose warps have a row each: short CTAs balance better
// Of a warp's superaccumulator. fp64 elements that no window takes are added by single lanes, which share the copies.
TR_HD constexpr int copies_per_warp(DType in) { return in == DType::Float64 ? 2 : 1; }
// From so many rows per SM on a warp has a row; below, up to kWarps have.
constexpr int64_t kRowsPerSm = 16;
// Up to so many rows per SM a row has all warps of an SM, in one CTA: these take its tiles as they come for them, and
// end at the same time. A row has several CTAs where they fit the GPU, and no more, as the end of each costs some
// microseconds.
constexpr int64_t kRowsMostWide = 2;
constexpr int kRowsWarps = 16;
// Loads of a lane in a tile, of 16 bytes or of an element; those of the next tile are under way at the same time.
constexpr int kRowsLoads = 4;
constexpr int kRowsMostLoads = 8;           // where a warp has at least
constexpr int64_t kRowsMostLoadsTiles = 4;  // so many tiles, and is one of the 16 of its SM
constexpr int kRowsElements = 16;

// Columns of at most so many elements, or so many that their lanes fill the GPU, have a lane to themselves.
constexpr int64_t kDirectRows = 64;
constexpr int64_t kDirectMostRows = 1 << 10;
constexpr int64_t kDirectLanesPerSm = 1024;
// Of a lane in a tile; those of the next tile are under way.
constexpr int kColumnsLoads = 8;
constexpr int kShortColumnsLoads = 4;
constexpr int64_t kColumnsCtasPerSm = 2;

// Columns' slices are added up as integers of 128 bits and a sign: n of 50 bits, the second slice's 50 below, and these
// octaves between windows.
inline int most_apart(int64_t n) {
  int bits = 127 - 2 * kSliceBits - 1;
  while (bits > 0 && n > 1) n = (n + 1) / 2, --bits;
  return bits;
}

}  // namespace torch_reduce::exact
