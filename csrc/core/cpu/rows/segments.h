// Outputs made of contiguous segments whose neighbours in memory belong to other outputs, as in the sums of a batch
// norm. Several outputs are reduced at the same time, segment by segment, so that memory is read in its own order:
// output by output, every segment would be found anew by the prefetchers and by the translation of addresses.
#pragma once

#include "core/cpu/job/cursor.h"
#include "core/cpu/job/job.h"
#include "core/cpu/simd/copy.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op, class Acc>
class SegmentsKernel {
 public:
  SegmentsKernel(const Job<Op, Acc>& job, char* held)
      : job_(job),
        size_(job.elements.size),
        segment_(job.layout().reduced[job.layout().reduced_dims - 1].size),
        in_place_(segment_ < kChunk && segment_ % kLeaves == 0),
        at_once_(job.plan.strip),
        ahead_(ahead_of_segments(job.ahead())),
        fetches_(fetches_segments(size_, job.plan.expected_bytes, kIsWide)),
        held_(held) {}

  // An item is an output.
  void run(int64_t begin, int64_t end) {
    const int64_t n = job_.layout().n;
    Cursor cursor(job_.layout(), size_);
    for (int64_t first = begin; first < end; first += at_once_) {
      const int64_t outputs = smaller(at_once_, end - first);
      const char* const x = job_.input_of(first);
      int64_t offset[kMostSegmentsAtOnce];
      for (int64_t i = 0; i < outputs; ++i) {
        offset[i] = job_.input_of(first + i) - x;
        count_[i] = 0;
        stacks_[i].waiting.clear();
      }
      cursor.start(x);
      if (in_place_) {
        for (int64_t k = 0; k < n; k += kChunk) add_in_place(cursor, k, outputs, offset);
      } else {
        for (int64_t k = 0; k < n; k += segment_) {
          cursor.move_to(k);
          const char* const row = cursor.row();
          cursor.advance(segment_);
          fetch_ahead(k + segment_ < n ? cursor.row() - row : 0);
          for (int64_t i = 0; i < outputs; ++i) add(i, row + offset[i]);
        }
      }
      finish(first, outputs);
    }
  }

 private:
  static constexpr int kSlots = 16;

  // A few chunks at a time are slower Touched.
  Ahead ahead_of_segments(Ahead ahead) const {
    if (ahead != Ahead::Touched) return ahead;
    return size_ <= 4 ? Ahead::Steadily : Ahead::Nothing;
  }

  char* held(int64_t i, int64_t element) const { return held_ + i * segment_held_bytes(size_) + element * size_; }

  // The chunk at element k of every output, where each of its windows lies in one segment: nothing is copied.
  void add_in_place(Cursor& cursor, int64_t k, int64_t outputs, const int64_t* offset) {
    const char* row[kSteps] = {};
    for (int64_t s = 0; s < kSteps && k + s * kLeaves < job_.layout().n; ++s) {
      cursor.move_to(k + s * kLeaves);
      row[s] = cursor.row();
      cursor.advance(kLeaves);
    }
    if (row[kSteps - 1] == nullptr) fill_elements(job_.elements.identity, size_, kLeaves, held(0, 0));
    for (int64_t i = 0; i < outputs; ++i) {
      const char* window[kSteps];
      for (int64_t s = 0; s < kSteps; ++s) {
        window[s] = row[s] ? row[s] + offset[i] : held(0, 0);
        if (fetches_ && row[s] && i + 1 < outputs) {
          prefetch_bytes(row[s] + offset[i + 1], kLeaves * size_);
        }
      }
      job_.elements.windows(window, kSteps, 1, 0, slot());
      own(i, 1);
    }
  }

  // What is fetched while segments are copied: an output's next segment, `bytes` away, as a few outputs' segments may
  // be shorter than what is fetched ahead in the order of memory.
  void fetch_ahead(int64_t bytes) {
    if (!fetches_) return;
    distance_ = segment_ < kChunk ? bytes : fetch_distance(Reading::Chunks, size_, kIsWide);
  }
  void fetch(const char* x, int64_t count) const {
    if (distance_) prefetch_bytes(x + distance_, count * size_);
  }

  // The next segment of output i.
  void add(int64_t i, const char* x) {
    int64_t left = segment_;
    if (count_[i] > 0) {
      const int64_t count = kChunk - count_[i];
      if (left < count) return hold(i, x, left);
      fetch(x, count);
      add_straddling(i, x);
      x += count * size_;
      left -= count;
    }
    while (left >= kChunk) {
      const int64_t count = smaller(left / kChunk, order_free<Op, Acc> ? kFreeChunks : kSlots - used_);
      job_.elements.chunks(x, count, ahead_, slot());
      own(i, order_free<Op, Acc> ? 1 : count);
      x += count * kChunk * size_;
      left -= count * kChunk;
    }
    if (left > 0) hold(i, x, left);
  }

  // Keeps elements of a chunk that goes on in the next segment.
  void hold(int64_t i, const char* x, int64_t count) {
    fetch(x, count);
    copy_bytes(x, count * size_, held(i, count_[i]));
    count_[i] += count;
  }

  // The chunk of the elements that are held and those from x on. Only windows that are in both places are copied.
  void add_straddling(int64_t i, const char* x) {
    const int64_t count = count_[i], begun = (count + kLeaves - 1) / kLeaves;
    copy_bytes(x, (begun * kLeaves - count) * size_, held(i, count));
    const char* window[kSteps];
    for (int64_t s = 0; s < kSteps; ++s) {
      window[s] = s < begun ? held(i, s * kLeaves) : x + (s * kLeaves - count) * size_;
    }
    job_.elements.windows(window, kSteps, 1, 0, slot());
    own(i, 1);
    count_[i] = 0;
  }

  // Where the subtrees of the next chunk are written; own() says whose they are.
  Acc* slot() { return slots_ + used_ * kSubtrees; }

  void own(int64_t i, int64_t chunks) {
    for (int64_t c = 0; c < chunks; ++c) owner_[used_++] = i;
    if (used_ == kSlots) fold_slots();
  }

  void fold_slots() {
    if (used_ == 0) return;
    fold_subtrees<Op>(slots_, used_);
    for (int64_t s = 0; s < used_; ++s) stacks_[owner_[s]].push(slots_[s]);
    used_ = 0;
  }

  void finish(int64_t first, int64_t outputs) {
    for (int64_t i = 0; i < outputs; ++i) {
      if (count_[i] == 0) continue;
      job_.elements.rest(held(i, 0), count_[i], Ahead::Nothing, slot());
      own(i, 1);
    }
    fold_slots();
    Acc results[kMostSegmentsAtOnce];
    for (int64_t i = 0; i < outputs; ++i) results[i] = stacks_[i].result();
    job_.write_results(first, outputs, results);
  }

  const Job<Op, Acc>& job_;
  const int64_t size_, segment_;  // bytes of an element, elements
  const bool in_place_;
  const int64_t at_once_;  // outputs
  const Ahead ahead_;
  const bool fetches_;
  int64_t distance_ = 0;                // bytes
  char* const held_;                    // of each output, the elements of a chunk that has begun
  int64_t count_[kMostSegmentsAtOnce];  // how many they are
  Stack<Op, Acc> stacks_[kMostSegmentsAtOnce];
  alignas(64) Acc slots_[kSlots * kSubtrees];
  int64_t owner_[kSlots];
  int64_t used_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
