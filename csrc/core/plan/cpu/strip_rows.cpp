#include "core/plan/cpu/strip_rows.h"

#include <algorithm>

#include "core/contract/order.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu {

int strip_dim(const Layout& l) {
  for (int d = l.reduced_dims - 2; d >= 0; --d) {
    if (l.reduced[d].stride == 1) return d;
  }
  return -1;
}

int64_t strip_row_length(const Layout& l) {
  int64_t length = 1;
  for (int d = l.reduced_dims - 1; d > strip_dim(l); --d) length *= l.reduced[d].size;
  return length;
}

int64_t strip_bytes(const Layout& l, int64_t rows, int64_t acc, int64_t element) {
  int64_t lines = kFewestStripGroup;
  while (l.reduced[l.reduced_dims - 1].size % lines != 0) lines /= 2;
  const int64_t groups = kLeaves / lines, of_row = kStripPeriods * (groups + 1) + groups + kLeaves;
  return rows * of_row * acc + kMostStripCopies * kStripLines * kMostStripLanes * element;
}

int64_t strip_lines(const Layout& l) {
  const int64_t length = strip_row_length(l);
  // Counted from whichever end chunks begin near to one another (cpu/transposed/strips.h). From the last row, that has
  // half a chunk less on average.
  const bool from_last = length % kChunk < kChunk / 2;
  int64_t most = 0;
  for (int64_t row = 0; row < kFewestStripRows; ++row) {
    const int64_t begin = (from_last ? row : -row) * length & (kChunk - 1);
    const int64_t rest = length - begin - (from_last && row == 0 ? kChunk / 2 : 0);
    if (rest > 0) most = std::max(most, begin + chunk_count(rest) * kChunk);
  }
  return most;
}

}  // namespace torch_reduce::cpu
