// Strips: rows of logically consecutive elements, side by side in memory, as in a full sum of a transposed matrix. A
// vector has a row in each lane, and goes through their elements in the order of the rows, which are lines of memory:
// an element goes to its leaf by one addition in its lane. A strip is some vectors that read lines together.
//
// Where a row's chunks begin is the row's own matter, its phase. So leaves are kept by slot, the line modulo 256: a
// lane's leaves are its slots, rotated by the phase. Of a slot, each lane has one leaf that begins and one that ends in
// 1024 lines, a period. What ended stands in the order of slots, and the tree over it takes the rotation out, bit by
// bit: one level of a tree of neighbours needs to know only whether a lane's pairs begin at even places.
//
// A row's last chunk ends in the next rows, which are the next lanes: lines go on behind the last one at the first one,
// a row further. A row has the chunks that begin in it; what is added on the way to other leaves is left where it is.
#pragma once

#include "core/cpu/transposed/strip_streams.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op, class Acc>
class StripsKernel {
 public:
  StripsKernel(const Job<Op, Acc>& job, char* held)
      : job_(job),
        shape_(job.problem, job.elements.size, job.in, identity_),
        groups_(kLeaves / shape_.lines),
        vectors_(static_cast<int>(job.plan.strip / kWidth)),
        ended_(reinterpret_cast<Acc*>(held)),
        buffer_(reinterpret_cast<char*>(ended_ + vectors_ * vector_places())) {
    fill_elements(job.elements.identity, job.elements.size, kWidth, identity_);
  }

  // An item is a strip.
  void run(int64_t begin, int64_t end) {
    const int64_t strips = job_.plan.strips, outers = job_.plan.tasks / (job_.layout().outputs * strips);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t strip = item % strips, outer = item / strips % outers;
      start(item / strips / outers, outer, strip);
      reduce();
    }
  }

 private:
  static constexpr int kWidth = kLanes<Acc>;
  static_assert(kMostLinesInGroup >= kFewestStripGroup && kWidth <= kMostStripLanes, "strip_bytes() counts on it");
  static constexpr Place<Acc> kSign = static_cast<Place<Acc>>(uint64_t{1} << (8 * sizeof(Acc) - 1));

  // Rows, one in each lane.
  struct Rows {
    int64_t row;           // lane 0's, in its dim
    int64_t first, lines;  // the first line that is read, and how many
    int64_t periods;
    bool any_late;                         // whether is_late() any of the lanes
    Place<Acc> phase[kWidth];              // of the lines that are read, the first one at which a chunk begins
    int64_t chunk[kWidth], count[kWidth];  // a lane's first chunk, and how many it has
    int64_t since[kWidth];                 // the period in which that one ends
    StripStreams<Acc> streams;
  };

  // Whether a lane's chunks end in two periods: later slots in one, earlier ones in the next.
  static bool is_late(int64_t phase) { return phase > 0 && phase < kLeaves; }

  // Of a period: the groups' trees in their order, and room for the first one behind the last one.
  int64_t period_places() const { return (groups_ + 1) * kWidth; }
  // Of a vector: what ended in each period, what ended late, and the leaves between periods.
  int64_t vector_places() const { return kPeriodsTogether * period_places() + groups_ * kWidth + kLeaves * kWidth; }
  Acc* ended(int v) const { return ended_ + v * vector_places(); }
  Acc* late(int v) const { return ended(v) + kPeriodsTogether * period_places(); }
  Acc* leaves(int v) const { return late(v) + groups_ * kWidth; }

  void start(int64_t output, int64_t outer, int64_t strip) {
    const Layout& l = job_.layout();
    const int64_t lanes = job_.plan.strip, behind = strip * lanes;
    const int64_t row = smaller(behind, shape_.rows - lanes);  // the last strip begins before the one before it ends
    const char* const x = job_.input_of(output);
    here_ = x + shape_.outer_offset(outer);
    there_ = (outer + 1) * shape_.rows * shape_.length < l.n ? x + shape_.outer_offset(outer + 1) : nullptr;
    partials_ = job_.partials + output * job_.plan.split;
    const int64_t first_row = outer * shape_.rows, end_row = smaller(behind + lanes, shape_.rows);
    for (int v = 0; v < vectors_; ++v) {
      const int64_t from = row + v * kWidth > behind ? row + v * kWidth : behind;
      const int64_t to = smaller(row + (v + 1) * kWidth, end_row);
      start_rows(vector(v), first_row, row + v * kWidth, (first_row + from) * shape_.length,
                 (first_row + to) * shape_.length);
    }
  }

  // The rows from `row` on take the chunks that begin at elements [from, to).
  void start_rows(Rows& r, int64_t first_row, int64_t row, int64_t from, int64_t to) const {
    r.row = row;
    int64_t k = (first_row + row) * shape_.length, begin[kWidth], first = INT64_MAX, end = 0;
    // Of the elements, a row's length belongs to every lane, from where a chunk begins in the first row or in the last
    // one: so chunks begin at about the same line of all lanes where they are about as long as rows, if not at that of
    // their row. What is before is the first lane's.
    const int64_t to_last = shape_.length % kChunk < kChunk / 2 ? (kWidth - 1) * shape_.length : 0;
    int64_t own = chunk_count(k + to_last) * kChunk - to_last;
    for (int i = 0; i < kWidth; ++i, k += shape_.length, own += shape_.length) {
      r.chunk[i] = chunk_count(i > 0 && own > from ? own : from);
      r.count[i] = chunk_count(smaller(own + shape_.length, to)) - r.chunk[i];
      begin[i] = r.chunk[i] * kChunk - k;
      if (r.count[i] <= 0) continue;
      first = smaller(first, begin[i]);
      if (begin[i] + r.count[i] * kChunk > end) end = begin[i] + r.count[i] * kChunk;
    }
    r.first = first;
    r.lines = end > 0 ? end - first : 0;
    r.periods = (r.lines + kChunk - 1) / kChunk;
    r.any_late = false;
    for (int i = 0; i < kWidth; ++i) {
      const int64_t place = r.count[i] > 0 ? begin[i] - first : 0;
      r.phase[i] = static_cast<Place<Acc>>(place & (kChunk - 1));
      r.since[i] = (place + kChunk - 1) / kChunk;
      r.any_late |= is_late(r.phase[i]);
    }
  }

  void reduce() {
    bool more = true;
    for (int64_t period = 0; more; period += kPeriodsTogether) {
      more = false;
      for (int v = 0; v < vectors_; ++v) {
        Rows& r = vector(v);
        r.streams.start(shape_, here_, there_, r.row, r.first + period * kChunk, lines_from(r, period));
        more |= period + kPeriodsTogether < r.periods;
      }
      for (int64_t slot = 0; slot < kLeaves; slot += kStripLines) {
        for (int v = 0; v < vectors_; ++v) read(v, period, slot);
      }
      for (int v = 0; v < vectors_; ++v) {
        const int64_t periods = smaller(vector(v).periods, period + kPeriodsTogether);
        for (int64_t p = period; p < periods; ++p) deliver(v, p, ended(v) + (p - period) * period_places());
      }
    }
  }

  // Those of the periods that are read together.
  int64_t lines_from(const Rows& r, int64_t period) const {
    return smaller(r.lines - period * kChunk, kPeriodsTogether * kChunk);
  }

  // kStripLines slots of these periods.
  void read(int v, int64_t period, int64_t slot) {
    Rows& r = vector(v);
    StripGroups<Acc> g;
    g.begin = period == 0;
    g.end = period + kPeriodsTogether >= r.periods;
    g.phase = r.phase;
    g.leaves = leaves(v);
    g.out_stride = period_places();
    const int64_t lines = (lines_from(r, period) + shape_.lines - 1) / shape_.lines * shape_.lines;
    const int64_t end = smaller(slot + kStripLines, lines);
    while (slot < end) {
      const int64_t count = r.streams.get(shape_, slot, end - slot, buffer_, g);
      g.out = ended(v) + slot / shape_.lines * kWidth;
      job_.elements.strip(g);
      r.streams.advance(g);
      slot += count;
    }
  }

  // The trees over what ended in period p.
  void deliver(int v, int64_t p, Acc* ended) {
    const Rows& r = vector(v);
    if (r.any_late) take_late(r, ended, late(v));
    Acc result[kWidth];
    store(rotated_tree(r, ended), result);
    for (int i = 0; i < kWidth; ++i) {
      const int64_t chunk = p - r.since[i];
      if (chunk >= 0 && chunk < r.count[i]) partials_[r.chunk[i] + chunk] = result[i];
    }
  }

  // Later slots of lanes whose chunks end in two periods come from the period before.
  void take_late(const Rows& r, Acc* ended, Acc* late) const {
    Vector<Place<Acc>> phase;
    for (int i = 0; i < kWidth; ++i) phase[i] = is_late(r.phase[i]) ? r.phase[i] : static_cast<Place<Acc>>(kLeaves);
    for (int64_t group = 0; group < groups_; ++group, ended += kWidth, late += kWidth) {
      const Vector<Acc> now = load<Acc>(ended), before = load<Acc>(late);
      // No lane's phase is within a group. Negative where the phase is at or below the slot.
      const Vector<Place<Acc>> below = phase - static_cast<Place<Acc>>(group * shape_.lines + 1);
      store(select(lanes_with<Acc>(below, kSign), before, now), ended);
      store(now, late);
    }
  }

  // A lane's tree over x[phase], x[phase + 1], ... modulo `groups_`, where the phase counts groups. In place.
  Vector<Acc> rotated_tree(const Rows& r, Acc* x) const {
    Vector<Place<Acc>> phase;
    __builtin_memcpy(&phase, r.phase, sizeof(phase));
    Place<Acc> bit = static_cast<Place<Acc>>(shape_.lines);
    for (int64_t size = groups_; size > 1; size /= 2, bit *= 2) {
      const LaneMask<Acc> odd = lanes_with<Acc>(phase, bit);
      store(load<Acc>(x), x + size * kWidth);
      Vector<Acc> first = load<Acc>(x);
      for (int64_t i = 0; i < size; i += 2) {
        const Vector<Acc> next = load<Acc>(x + (i + 2) * kWidth);
        store(Op::combine(select(odd, next, first), load<Acc>(x + (i + 1) * kWidth)), x + i / 2 * kWidth);
        first = next;
      }
    }
    return load<Acc>(x);
  }

  Rows& vector(int v) { return rows_[v]; }

  const Job<Op, Acc>& job_;
  alignas(64) char identity_[kWidth * sizeof(Acc)];
  const StripShape shape_;
  const int64_t groups_;  // of 256 lines
  const int vectors_;     // of a strip
  Rows rows_[kStripRows / kWidth];
  Acc* const ended_;
  char* const buffer_;  // lines that are copied

  // Of the strip:
  const char* here_ = nullptr;   // the first element at the outer dims' place
  const char* there_ = nullptr;  // and at the next one; null: there is none
  Acc* partials_ = nullptr;      // of the output
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
