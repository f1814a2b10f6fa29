// Constants that shape the kernel of a norm's gradients.
#pragma once

#include <cstdint>

namespace torch_reduce::tuning {

// Rows on the way to a lane, the one that it works on included.
constexpr int kGradientStages = 2;
// Leaves of a unit at most, by the bytes of an element: what a unit leaves is as much for every type beside what it
// reads. Fewer, where there would be fewer units for each SM.
constexpr int64_t kGradientCtasPerSm = 1;
constexpr int log_gradient_leaves(int64_t element_bytes) { return element_bytes == 2 ? 2 : 1; }
constexpr int kGradientWarps = 8;         // at most, of a row
constexpr int kGradientWarpsOfShort = 4;  // of a CTA, where rows are short
// Of a thread, by the sums over the rows: as many as shared memory leaves room for.
constexpr int gradient_registers(int sums) { return sums == 1 ? 168 : 224; }

}  // namespace torch_reduce::tuning
