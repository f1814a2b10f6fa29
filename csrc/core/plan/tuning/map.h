// Constants that shape the kernels of maps.
#pragma once

#include <cstdint>

namespace torch_reduce::tuning {

// Warps of a CTA: the most, those that share a row as long as a cluster has room for it, and the least where rows are
// short.
constexpr int kMapMostWarps = 16;
constexpr int kMapWarps = 8;
constexpr int kMapLeastWarps = 2;
// Pieces of a warp, as long as there are so many warps for each SM, and as far as this much shared memory reaches:
// where they make a CTA hold a row, for short CTAs overlap better; and the most, as CTAs that share a row wait for each
// other.
constexpr int kMapChunks = 2;
constexpr int kLogMapMostChunks = 2;
constexpr int kMapMostChunks = 1 << kLogMapMostChunks;
constexpr int64_t kMapWarpsPerSm = 16;
// Registers of a thread that computes in fp32, if more than an SM has for two CTAs of the most warps; else 0. By
// whether rows are short or read by elements, which wants more warps, and by the bytes of what rows combine: where
// these are several words, registers are short while they meet, and shared memory leaves an SM fewer warps anyway.
constexpr int map_registers(bool is_short, bool by_elements, int64_t value_bytes) {
  return is_short || value_bytes <= (by_elements ? 8 : 4) ? 0 : 80;
}
// Short rows are many from so many warps for each SM on.
constexpr int64_t kMapShortWarpsPerSm = 8;
constexpr int64_t kMapWarpBytes = 12 << 10;
// Up to so many CTAs fetch parameters before they read them: nobody else has brought them near.
constexpr int64_t kMapFewCtas = 128;

}  // namespace torch_reduce::tuning
