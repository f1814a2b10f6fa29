// Rows: outputs one at a time, chunk by chunk. Subtrees of several chunks, which may belong to different outputs, stand
// one after the other, so that each tree level of all of them is one loop.
#pragma once

#include "core/cpu/job/source.h"
#include "core/cpu/transposed/tiles.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Adjacent results on their way to the output.
template <class Op, class Acc>
class Results {
 public:
  explicit Results(const Job<Op, Acc>& job) : job_(job) {}

  void add(int64_t output, int64_t piece, Acc value) {
    if (job_.plan.split > 1) return job_.deliver(output, piece, 1, &value);
    if (count_ == kCapacity) flush();
    if (count_ == 0) first_ = output;
    value_[count_++] = value;
  }

  void flush() {
    job_.write_results(first_, count_, value_);
    count_ = 0;
  }

 private:
  static constexpr int64_t kCapacity = 128;
  const Job<Op, Acc>& job_;
  int64_t first_ = 0, count_ = 0;
  Acc value_[kCapacity];
};

template <class Op, class Acc>
class RowsKernel {
 public:
  RowsKernel(const Job<Op, Acc>& job, char* held)
      : job_(job),
        source_(job, 1, 1),
        tiles_(job, held),
        results_(job),
        prefetch_(job.prefetch()),
        ahead_(job.ahead()) {}

  // An item is a piece of an output.
  void run(int64_t begin, int64_t end) {
    const int64_t chunks = chunk_count(job_.layout().n), split = job_.plan.split;
    if (chunks == 1 && source_.has_windows()) return run_single_chunks(begin, end);
    if (in_a_row() && split == 1 && !order_free<Op, Acc>) return run_in_a_row(begin, end);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t output = split == 1 ? item : item / split, piece = item - output * split;
      source_.start(job_.input_of(output));
      const int64_t first = piece * job_.plan.piece_chunks;
      reduce(item, first, smaller(first + job_.plan.piece_chunks, chunks));
    }
    fold_slots();
    if (end > begin) finish_item();
    results_.flush();
  }

 private:
  static constexpr int kSlots = 16, kLogSlots = 4;

  // Outputs of one chunk: as below, without its bookkeeping.
  void run_single_chunks(int64_t begin, int64_t end) {
    const int64_t n = job_.layout().n, bytes = n * job_.elements.size;
    const bool follows = in_a_row();
    for (int64_t output = begin; output < end; output += used_) {
      used_ = static_cast<int>(smaller(kSlots, end - output));
      const char* const x = job_.input_of(output);
      if (follows && n == kChunk && !order_free<Op, Acc>) {
        job_.elements.chunks(x, used_, ahead_, slots_);
      } else if (follows && n < kChunk) {
        for (int i = 0; i < used_; ++i) job_.elements.rest(x + i * bytes, n, ahead_, slots_ + i * kSubtrees);
      } else {
        for (int i = 0; i < used_; ++i) {
          source_.start(job_.input_of(output + i));
          read_chunk(0, slots_ + i * kSubtrees);
        }
      }
      fold_subtrees<Op>(slots_, used_);
      job_.write_results(output, used_, slots_);
    }
  }

  // Whether one output follows the other in memory.
  bool in_a_row() const {
    const Layout& l = job_.layout();
    return job_.elements.chunks != nullptr && l.kept_dims == 1 && l.kept[0].in_stride == l.n && l.reduced_dims == 1 &&
           l.reduced[0].stride == 1 && l.n > 0;
  }

  // As many chunks at a time as there are slots, whoever owns them.
  void run_in_a_row(int64_t begin, int64_t end) {
    const int64_t n = job_.layout().n, chunks = n / kChunk, rest = n % kChunk, size = job_.elements.size;
    const char* x = job_.input_of(begin);
    int64_t output = begin, chunk = 0;
    while (output < end) {
      const int64_t whole = rest == 0 ? (end - output) * chunks - chunk : chunks - chunk;
      const int64_t count = smaller(kSlots - used_, whole);
      if (count > 0) job_.elements.chunks(x, count, ahead_, slots_ + used_ * kSubtrees);
      x += count * kChunk * size;
      for (int64_t last = used_ + count; used_ < last; ++used_) {
        owner_[used_] = output;
        if (++chunk == chunks && rest == 0) ++output, chunk = 0;
      }
      if (used_ < kSlots && rest > 0) {
        job_.elements.rest(x, rest, ahead_, slots_ + used_ * kSubtrees);
        x += rest * size;
        owner_[used_++] = output++;
        chunk = 0;
      }
      if (used_ == kSlots) fold_slots();
    }
    fold_slots();
    if (end > begin) finish_item();
    results_.flush();
  }

  void reduce(int64_t item, int64_t chunk, int64_t end) {
    if (chunk >= end) {  // no element: the identity
      fold_slots();
      if (item_ != item && item_ >= 0) finish_item();
      item_ = item;
      return;
    }
    if (job_.plan.access == Access::Tiles) return reduce_tiles(item, chunk, end);
    while (chunk < end) {
      const int64_t k = chunk * kChunk;
      const int64_t contiguous = job_.elements.chunks != nullptr && source_.packed() ? whole_chunks(k) : 0;
      Acc* slot = slots_ + used_ * kSubtrees;
      if (contiguous == 0) {
        if (prefetch_ && job_.layout().reduced_dims > 1) source_.prefetch(k + kChunk);
        read_chunk(k, slot);
        owner_[used_++] = item;
        ++chunk;
      } else {
        chunk += add_chunks(item, source_.row(k), smaller(contiguous, end - chunk), ahead_);
        count_from(k, slot);
      }
      if (used_ == kSlots) fold_slots();
    }
  }

  // Takes some of `count` contiguous chunks, and says how many.
  int64_t add_chunks(int64_t item, const char* x, int64_t count, Ahead ahead) {
    count = smaller(count, order_free<Op, Acc> ? kFreeChunks : kSlots - used_);
    job_.elements.chunks(x, count, ahead, slots_ + used_ * kSubtrees);
    for (int64_t i = 0; i < (order_free<Op, Acc> ? 1 : count); ++i) owner_[used_++] = item;
    return count;
  }

  void reduce_tiles(int64_t item, int64_t chunk, int64_t end) {
    const int64_t size = job_.elements.size;
    tiles_.start(source_.row(0), chunk * kChunk, smaller(end * kChunk, job_.layout().n));
    const char* x;
    while (int64_t left = tiles_.next(&x)) {
      while (left >= kChunk) {
        const int64_t taken = add_chunks(item, x, left / kChunk, Ahead::Nothing) * kChunk;
        x += taken * size;
        left -= taken;
        if (used_ == kSlots) fold_slots();
      }
      if (left > 0) {  // the end of the output
        job_.elements.rest(x, left, Ahead::Nothing, slots_ + used_ * kSubtrees);
        owner_[used_++] = item;
        if (used_ == kSlots) fold_slots();
      }
    }
  }

  // A chunk that is scattered or not whole, or whose type is rare.
  void read_chunk(int64_t k, Acc* slot) {
    const int64_t rest = job_.layout().n - k;
    if (job_.elements.rest != nullptr && source_.packed() && source_.run(k) >= smaller(rest, kChunk)) {
      if (rest < kChunk) {
        job_.elements.rest(source_.row(k), rest, ahead_, slot);
      } else {
        job_.elements.chunks(source_.row(k), 1, ahead_, slot);
      }
      count_from(k, slot);
    } else if (source_.has_windows()) {
      const char* window[kSteps];
      const bool whole = rest >= kChunk;
      if (!whole && !filled_) source_.fill(tail_);
      filled_ |= !whole;  // every output's last chunk lacks the same elements
      source_.windows(k, whole ? copies_ : tail_, window);
      job_.elements.windows(window, source_.steps(k), 1, 0, slot);
    } else {
      source_.leaves(k, 0, kLeaves, leaves_);
      fold<Op>(leaves_, kLeaves / kSubtrees, kSubtrees);
      for (int i = 0; i < kSubtrees; ++i) slot[i] = leaves_[i];
    }
  }

  // Makes indices that count from element k on those of the output.
  void count_from(int64_t k, Acc* slot) const {
    if constexpr (Op::needs_index) {
      for (int s = 0; s < kSubtrees; ++s) slot[s].ahead -= static_cast<decltype(slot[s].ahead)>(k);
    }
  }

  // How many whole chunks from row k on are contiguous.
  int64_t whole_chunks(int64_t k) const { return smaller(source_.run(k), job_.layout().n - k) / kChunk; }

  void fold_slots() {
    if (used_ == 0) return;
    fold_subtrees<Op>(slots_, used_);
    if (used_ == kSlots && owner_[0] == item_ && owner_[kSlots - 1] == item_ && stack_.waiting.count() % kSlots == 0) {
      fold<Op>(slots_, kSlots, 1);
      stack_.push(slots_[0], kLogSlots);
    } else {
      for (int s = 0; s < used_; ++s) {
        if (owner_[s] != item_) {
          if (item_ >= 0) finish_item();
          item_ = owner_[s];
        }
        stack_.push(slots_[s]);
      }
    }
    used_ = 0;
  }

  void finish_item() {
    const int64_t split = job_.plan.split, output = split == 1 ? item_ : item_ / split;
    results_.add(output, item_ - output * split, stack_.result());
    stack_.waiting.clear();
  }

  const Job<Op, Acc>& job_;
  Source<Op, Acc> source_;
  Tiles<Op, Acc> tiles_;
  Results<Op, Acc> results_;
  int64_t prefetch_;
  Ahead ahead_;
  alignas(64) Acc slots_[kSlots * kSubtrees];
  alignas(64) Acc leaves_[kLeaves];
  alignas(64) char copies_[kChunk * 8];
  alignas(64) char tail_[kChunk * 8];
  bool filled_ = false;
  int64_t owner_[kSlots];
  int used_ = 0;
  int64_t item_ = -1;  // whose chunks stack_ holds
  Stack<Op, Acc> stack_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
