// Reduced dims of which one is adjacent in memory and not the innermost: rows along the dims inside of it lie side by
// side, and can be reduced as lanes of vectors (cpu/transposed/strips.h).
#pragma once

#include "core/problem/layout.h"

namespace torch_reduce::cpu {

// The reduced dim whose elements are such rows; -1 if there is none.
int strip_dim(const Layout& layout);

// How many elements a row has.
int64_t strip_row_length(const Layout& layout);

// Periods of 1024 lines that are read together, and how many streams of lines may have to be copied
// (cpu/transposed/strip_streams.h).
constexpr int kStripPeriods = 8, kMostStripCopies = 12, kMostStripLanes = 16;

// Bytes that a thread holds for strips of so many rows, at most: kernels with AVX-512 hold less.
int64_t strip_bytes(const Layout& layout, int64_t rows, int64_t acc, int64_t element);

// How many elements of each row are read where some rows go together, so that each has those of its own chunks.
int64_t strip_lines(const Layout& layout);

}  // namespace torch_reduce::cpu
