// Constants that shape the kernels of maps.
#pragma once

namespace torch_reduce::tuning {

// Warps of a CTA, with a chunk each: what two CTAs of an SM hold in registers. Of short rows, a CTA has so many at
// least.
constexpr int kMapWarps = 16;
constexpr int kMapLeastWarps = 4;

}  // namespace torch_reduce::tuning
