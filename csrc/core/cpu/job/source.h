// Where the elements of an output, or of adjacent outputs, lie, and the reads of them that the canonical order wants.
#pragma once

#include "core/cpu/job/cursor.h"
#include "core/cpu/job/job.h"
#include "core/cpu/simd/copy.h"
#include "core/cpu/tree/chunks.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Rows of `width` adjacent columns, as reads of the canonical order want them. A row is one element of each column;
// for the reduction of single outputs, width is 1 and a row is an element.
template <class Op, class Acc>
class Source {
 public:
  Source(const Job<Op, Acc>& job, int64_t width, int64_t column_stride)
      : elements_(job.elements),
        layout_(job.layout()),
        cursor_(job.layout(), job.elements.size),
        width_(width),
        column_stride_(width == 1 ? 1 : column_stride) {
    const int64_t stride = inner_stride();
    packed_ = stride == width_ && column_stride_ == 1;
  }

  void start(const char* x) {
    x_ = x;
    cursor_.start(x);
  }

  // Rows from k on that follow one another at inner_stride().
  int64_t run(int64_t k) const {
    if (layout_.reduced_dims == 0) return 1;
    const int64_t size = layout_.reduced[layout_.reduced_dims - 1].size;
    return layout_.reduced_dims == 1 ? size - k : size - k % size;
  }

  const char* row(int64_t k) const { return x_ + reduced_offset(layout_, layout_.reduced_dims, k) * elements_.size; }

  // Whether rows lie one after the other without a gap, as far as run() says.
  bool packed() const { return packed_; }

  // Whether windows() can be had.
  bool has_windows() const {
    return elements_.windows != nullptr && (width_ == 1 || packed_) && can_group<Op, Acc>(width_);
  }

  // Bytes from a row to the next of its run.
  int64_t pitch() const { return inner_stride() * elements_.size; }

  // The four windows of 256 rows of the chunk that starts at row k, each contiguous: where it is not so in memory, it
  // is copied to `copies`. That is room for a chunk, filled by fill() if the chunk is not whole.
  void windows(int64_t k, char* copies, const char** window) {
    cursor_.move_to(k);
    const int64_t bytes = kLeaves * width_ * elements_.size;
    if (packed_ && run(0) < kLeaves) {  // no window is contiguous
      copy_next(smaller(layout_.n - k, kChunk), copies);
      for (int s = 0; s < kSteps; ++s) window[s] = copies + s * bytes;
      return;
    }
    for (int s = 0; s < kSteps; ++s, k += kLeaves, copies += bytes) {
      if (packed_ && k + kLeaves <= layout_.n && cursor_.left() >= kLeaves) {
        window[s] = cursor_.row();
        cursor_.advance(kLeaves);
      } else {
        window[s] = copies;
        copy_next(k < layout_.n ? smaller(layout_.n - k, kLeaves) : 0, copies);
      }
    }
  }

  // Makes missing elements of a chunk that is not whole the identity.
  void fill(char* copies) const { fill_elements(elements_.identity, elements_.size, kChunk * width_, copies); }

  // `count` rows from k on, of a single column or packed.
  void copy(int64_t k, int64_t count, char* copies) {
    cursor_.move_to(k);
    copy_next(count, copies);
  }

  // How many of those windows windows() of elements has to read.
  int steps(int64_t k) const { return layout_.n - k <= 2 * kLeaves ? 2 : kSteps; }

  // Fetches the chunk at row k. After the last chunk of a contiguous output, the next one is taken to follow in memory.
  void prefetch(int64_t k) const {
    if (!packed_) return;
    const int64_t bytes = width_ * elements_.size;
    if (layout_.reduced_dims <= 1) return prefetch_bytes(row(k), kChunk * bytes);
    if (k >= layout_.n) return;
    Cursor ahead = cursor_;
    ahead.move_to(k);
    for (int64_t count = smaller(kChunk, layout_.n - k); count > 0;) {
      const int64_t rows = smaller(ahead.left(), count);
      prefetch_bytes(ahead.row(), rows * bytes);
      ahead.advance(rows);
      count -= rows;
    }
  }

  // Fetches the windows that follow those of `count` leaves, the first at row k.
  void prefetch_rows(int64_t k, int64_t count) const {
    if (!packed_) return;
    for (int s = 0; s < kSteps && k < layout_.n; ++s, k += kLeaves) {
      prefetch_bytes(row(k + count), count * width_ * elements_.size);
    }
  }

  // Leaves first .. first + count of the chunk that starts at row k: out[leaf][column].
  void leaves(int64_t k, int64_t first, int64_t count, Acc* out) const {
    // The first `longer` of them have an element more than the others.
    const int64_t rows = smaller(layout_.n - k, kChunk), steps = rows / kLeaves, rest = rows % kLeaves - first;
    const int64_t longer = rest > 0 ? smaller(rest, count) : 0;
    if (longer > 0) leaves_of(static_cast<int>(steps) + 1, k + first, longer, out);
    if (longer < count) leaves_of(static_cast<int>(steps), k + first + longer, count - longer, out + longer * width_);
  }

  // How many leaves from `leaf` on, an aligned power of two, one call of leaves() of elements can read: they have as
  // many elements each, and so many together at most. 0 if there are none.
  int leaves_at_once(int64_t k, int64_t leaf, int* steps) const {
    const int64_t rows = smaller(layout_.n - k, kChunk), rest = rows % kLeaves;
    *steps = static_cast<int>(rows / kLeaves + (leaf < rest));
    if (*steps == 0 || elements_.leaves == nullptr) return 0;
    const int64_t same = (leaf < rest ? rest : kLeaves) - leaf;
    const int most = column_stride_ == 1 ? kRowsOfCall<Op, Acc> : kRowsAtOnce<Op>;
    int count = 1;
    // Without a division: counts are powers of two.
    while (2 * count * *steps <= most && (leaf & (2 * count - 1)) == 0 && 2 * count <= same) count *= 2;
    return count;
  }

  // The tree over the leaves that leaves_at_once() counted: out[column]. With `prefetch`, the next ones are fetched.
  // Columns that are not adjacent in memory are copied to `copies`, which has room for these rows.
  void read_leaves(int64_t k, int64_t leaf, int leaves, int steps, bool prefetch, char* copies, Acc* out) const {
    const char* rows[kRowsOfCall<Op, Acc>];
    for (int s = 0; s < steps; ++s) locate(k + leaf + s * kLeaves, leaves, rows + s, steps);
    if (column_stride_ != 1) {
      for (int r = 0; r < leaves * steps; ++r, copies += width_ * elements_.size) {
        copy_elements(rows[r], elements_.size, column_stride_, width_, copies);
        rows[r] = copies;
      }
    } else if (prefetch && (kIsWide || leaves * steps * width_ * elements_.size <= kMostRowsAhead) &&
               leaf + 2 * leaves <= kLeaves && k + leaf + 2 * leaves + (steps - 1) * kLeaves <= layout_.n) {
      for (int l = 0; l < leaves; ++l) {
        for (int s = 0; s < steps; ++s) {
          prefetch_bytes(row(k + leaf + leaves + l + s * kLeaves), width_ * elements_.size);
        }
      }
    }
    elements_.leaves(rows, steps, leaves, width_, out);
  }

 private:
  // `count` rows from the cursor on.
  void copy_next(int64_t count, char* copies) {
    const int64_t stride = packed_ ? 1 : inner_stride();
    while (count > 0) {
      const int64_t rows = smaller(cursor_.left(), count);
      copy_elements(cursor_.row(), elements_.size, stride, rows * width_, copies);
      copies += rows * width_ * elements_.size;
      cursor_.advance(rows);
      count -= rows;
    }
  }

  int64_t inner_stride() const { return layout_.reduced_dims ? layout_.reduced[layout_.reduced_dims - 1].stride : 1; }

  // Where `count` rows from k on begin: out[i * step]. Within a run without divisions.
  void locate(int64_t k, int count, const char** out, int step) const {
    const int64_t stride = inner_stride() * elements_.size;
    for (int i = 0; i < count;) {
      const char* const x = row(k + i);
      const int64_t last = i + smaller(run(k + i), count - i);
      for (const int first = i; i < last; ++i) out[i * step] = x + (i - first) * stride;
    }
  }

  // Leaves that all have `steps` elements; those of none are the identity.
  void leaves_of(int steps, int64_t first, int64_t count, Acc* out) const {
    if (steps == 0) {
      for (int64_t i = 0; i < count * width_; ++i) out[i] = Op::template identity<Acc>();
      return;
    }
    const char* windows[kSteps];
    bool direct = elements_.leaves != nullptr && column_stride_ == 1;
    for (int s = 0; s < steps && direct; ++s) {
      direct = count == 1 || (packed_ && count <= run(first + s * kLeaves));
      windows[s] = row(first + s * kLeaves);
    }
    if (direct) {
      elements_.leaves(windows, steps, 1, count * width_, out);
    } else if (elements_.leaves != nullptr && column_stride_ == 1 && width_ >= kNarrowColumns) {
      for (int64_t l = 0; l < count; ++l) leaves_of(steps, first + l, 1, out + l * width_);
    } else {
      gather(steps, first, count, out);
    }
  }

  // Step by step, and each step run by run.
  void gather(int steps, int64_t first, int64_t count, Acc* out) const {
    for (int s = 0; s < steps; ++s, first += kLeaves) {
      for (int64_t i = 0; i < count;) {
        const int64_t rows = smaller(run(first + i), count - i);
        read_rows(first + i, rows, s > 0, out + i * width_);
        i += rows;
      }
    }
  }

  // `rows` rows of a run, from row k on.
  void read_rows(int64_t k, int64_t rows, bool onto, Acc* out) const {
    const char* const x = row(k);
    if (packed_ && (width_ == 1 || !Op::needs_index)) {
      read(x, 1, rows * width_, k, 1, onto, out);
    } else if (width_ == 1) {
      read(x, inner_stride(), rows, k, 1, onto, out);
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        read(x + i * inner_stride() * elements_.size, column_stride_, width_, k + i, 0, onto, out + i * width_);
      }
    }
  }

  void read(const char* x, int64_t stride, int64_t count, int64_t index, int64_t step, bool onto, Acc* out) const {
    if (!onto) return elements_.convert(x, stride, count, index, step, elements_.order, out);
    Acc block[kLeaves];
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t size = smaller(kLeaves, count - i);
      elements_.convert(x + i * stride * elements_.size, stride, size, index + i * step, step, elements_.order, block);
      combine_all<Op>(out + i, block, size, out + i);
    }
  }

  const Elements<Acc>& elements_;
  const Layout& layout_;
  Cursor cursor_;
  const char* x_ = nullptr;
  int64_t width_, column_stride_;
  bool packed_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
