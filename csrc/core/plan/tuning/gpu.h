// What plans are tuned by: counts per SM and sizes, so that a row of them serves every GPU of an architecture. Results
// do not depend on any of them.
#pragma once

#include <cstdint>
#include <string>

#include "core/contract/types.h"

namespace torch_reduce {

// The reason beside each was measured on an H200; rows by architecture are in gpu.cpp.
struct Tuning {
  // A split row's CTAs take more chunks each from this many CTAs on: each one's partial costs the finish, or an atomic.
  int64_t rows_ctas_per_sm;
  // The most chunks of such a CTA. Whole rows may be longer, up to tuning::kRowsMostSlots.
  int64_t rows_split_slots;
  // Fewer outputs than this leave the last wave of CTAs half empty, so their rows are split.
  int64_t rows_split_below_per_sm;
  // Few short rows have smaller CTAs, until there are as many as this.
  int64_t rows_least_ctas_per_sm;
  // Rows come several to a CTA, where that keeps its warps busier, as long as there are so many CTAs.
  int64_t rows_shared_ctas_per_sm;

  // Short rows that begin anywhere: a warp has as many as this much shared memory holds, in bytes, so that as many CTAs
  // fit an SM as have threads there; ...
  int64_t staged_warp_bytes;
  // ... and fewer where there are not so many CTAs.
  int64_t staged_ctas_per_sm;

  // Columns are not cut if there are so many tiles: narrower ones first, as long as they are many, since short CTAs
  // balance better ...
  int64_t columns_uncut_ctas_per_sm;
  // ... and else so many for two SMs.
  int64_t columns_least_ctas_per_two_sms;
  // Columns that are cut, are cut until there are this many CTAs.
  int64_t columns_ctas_per_sm;
  // The width of their tiles in bytes.
  int64_t columns_tile;
  // Shared memory of a CTA in bytes: as many CTAs fit an SM as its registers allow.
  int64_t columns_shared;
  // Problems of at most so many bytes have tiles as narrow as a sector, if that spares the second pass; what is done in
  // one launch at all is counted in these too (tuning::kColumnsOnceMost).
  int64_t columns_small_per_sm;

  // Up to this many outputs get a CTA each for their partials.
  int64_t finish_few_outputs_per_sm;
};

// The row of an architecture, or of the next lower one that has a row.
TR_SHARED Tuning tuning_of(int major, int minor);

// Shared memory of an SM.
TR_SHARED int64_t shared_bytes_of(int major, int minor);

// A value by its name.
struct Tunable {
  using Value = int64_t Tuning::*;

  const char* name;
  Value value;
  int64_t least, most;
  bool power_of_two;

  TR_SHARED void check(int64_t value) const;  // throws std::invalid_argument with one sentence if it is not legal
};

constexpr int64_t kMostPerSm = int64_t{1} << 20;  // products with a number of SMs stay far from overflow
constexpr Tunable kTunables[] = {
    {"rows_ctas_per_sm", &Tuning::rows_ctas_per_sm, 1, kMostPerSm, false},
    {"rows_split_slots", &Tuning::rows_split_slots, 1, 4096, true},
    {"rows_split_below_per_sm", &Tuning::rows_split_below_per_sm, 1, kMostPerSm, false},
    {"rows_least_ctas_per_sm", &Tuning::rows_least_ctas_per_sm, 1, kMostPerSm, false},
    {"rows_shared_ctas_per_sm", &Tuning::rows_shared_ctas_per_sm, 1, kMostPerSm, false},
    {"staged_warp_bytes", &Tuning::staged_warp_bytes, 16, 5 << 10, false},  // of eight warps, without an attribute
    {"staged_ctas_per_sm", &Tuning::staged_ctas_per_sm, 1, kMostPerSm, false},
    {"columns_uncut_ctas_per_sm", &Tuning::columns_uncut_ctas_per_sm, 1, kMostPerSm, false},
    {"columns_least_ctas_per_two_sms", &Tuning::columns_least_ctas_per_two_sms, 1, kMostPerSm, false},
    {"columns_ctas_per_sm", &Tuning::columns_ctas_per_sm, 1, kMostPerSm, false},
    {"columns_tile", &Tuning::columns_tile, 32, 4096, true},
    {"columns_shared", &Tuning::columns_shared, 8 << 10, 48 << 10, false},  // more is an attribute of the kernel
    {"columns_small_per_sm", &Tuning::columns_small_per_sm, 1, kMostPerSm, false},
    {"finish_few_outputs_per_sm", &Tuning::finish_few_outputs_per_sm, 1, kMostPerSm, false},
};

// Throws std::invalid_argument with one sentence if there is none of this name.
TR_SHARED const Tunable& tunable(const std::string& name);

}  // namespace torch_reduce
