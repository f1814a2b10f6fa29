// Scans where any order gives the same bits: each element onto the one before it, of some neighbouring rows side by
// side.
#pragma once

#include "core/cpu/scan/job.h"
#include "core/cpu/scan/prefix_max.h"
#include "core/cpu/simd/extremes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc, bool Across>
class FreeScan {
 public:
  using Node = Acc;
  static constexpr int kRows = Across ? 32 : 1, kBlock = Across ? 1 : 256;

  explicit FreeScan(const ScanJob<O, Acc>& job) : job_(job) {}

  static int64_t tasks(const ScanJob<O, Acc>& job) { return job.units_of(kRows); }

  void reduce(int64_t) {}

  void scan(int64_t task) {
    const auto rows = job_.rows_of(task, kRows);
    const int64_t n = job_.layout().n, in = scanned_stride(job_.problem) * job_.in_bytes();
    const int64_t out = *job_.problem.scan_stride * job_.out_bytes();
    const bool in_place = !Across && job_.writes_words(*job_.problem.scan_stride);
    Acc before[kRows], block[kRows * kBlock];
    number_of<Acc> number[kRows * kBlock];
    for (Acc& b : before) b = O::template identity<Acc>();
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = Across ? rows.count : smaller(kBlock, n - at);
      Acc* value = in_place ? reinterpret_cast<Acc*>(rows.out + at * out) : block;
      const number_of<Acc>* x = number;
      if (!Across && job_.reads_numbers(scanned_stride(job_.problem))) {
        x = reinterpret_cast<const number_of<Acc>*>(rows.in + at * in);
      } else {
        job_.read(rows.in + at * in, Across ? job_.inner().in_stride : scanned_stride(job_.problem), count, number);
      }
      if constexpr (Across) {
        for (int64_t i = 0; i < count; ++i) {
          if (!stays(before[i], x[i])) before[i] = O::combine(before[i], lifted(x[i], at));
          value[i] = before[i];
        }
      } else {
        before[0] = along(x, at, count, before[0], value);
      }
      if (!in_place)
        job_.write(value, count, at + 1, rows.out + at * out,
                   Across ? job_.inner().out_stride : *job_.problem.scan_stride);
    }
  }

 private:
  using Number = number_of<Acc>;
  static constexpr int64_t kAtOnce = 32;

  // Whether an element surely changes nothing. Most change none of the extremes before them.
  static TR_HD bool stays(const Acc& last, number_of<Acc> x) {
    if constexpr (O::selects) {
      return O::beats(last, x);
    } else {
      return false;
    }
  }
  // Elements from number `at` on, behind `last`: the new last.
  static Acc along(const Number* x, int64_t at, int64_t count, Acc last, Acc* value) {
    int64_t i = 0;
    if constexpr (O::selects) {
      for (; i + kAtOnce <= count; i += kAtOnce) {
        Key any = 0;
        for (int64_t j = 0; j < kAtOnce; ++j) any |= stays(last, x[i + j]) ? Key(0) : Key(1);
        if (any) {
          last = extremes(x + i, at + i, last, value + i);
        } else {
          for (int64_t j = 0; j < kAtOnce; ++j) value[i + j] = last;
        }
      }
    }
    for (; i < count; ++i) value[i] = last = O::combine(last, lifted(x[i], at + i));
    return last;
  }

  // Extremes are the largest of keys, integers as wide as an element.
  using Key = std::conditional_t<sizeof(Number) == 4, int32_t, int64_t>;
  static constexpr Key kOfNaN = std::numeric_limits<Key>::max();
  static TR_HD Key key_of_number(Number x) {
    if constexpr (O::needs_index) {
      return O::lift(x, 0).key;
    } else {
      const Key bits = bit_cast<Key>(x), order = std::is_integral<Number>::value ? bits : ordered_key(bits);
      return x != x ? kOfNaN : O::is_max ? order : ~order;
    }
  }
  static TR_HD Acc number_of_key(Key key) {
    const Key order = O::is_max ? key : ~key;
    return bit_cast<Acc>(std::is_integral<Number>::value ? order : ordered_key(order));
  }

  // kAtOnce elements, from number `at` on.
  static Acc extremes(const Number* x, int64_t at, const Acc& last, Acc* value) {
    Key key[kAtOnce], largest[kAtOnce];
    for (int64_t j = 0; j < kAtOnce; ++j) largest[j] = key[j] = key_of_number(x[j]);
    if constexpr (O::needs_index) {
      using Index = decltype(last.ahead);
      prefix_max(largest, last.key);
      Index place[kAtOnce];
      for (int64_t j = 0; j < kAtOnce; ++j) place[j] = key[j] == largest[j] ? static_cast<Index>(at + j) : Index(0);
      prefix_max(place, last.ahead);
      for (int64_t j = 0; j < kAtOnce; j += kLanes<Key>) {
        const Vector<Key> words[] = {load(largest + j), reinterpret_cast<Vector<Key>>(load(place + j))};
        interleave<Key>(words, value + j);
      }
    } else {
      prefix_max(largest, key_of_number(last));
      for (int64_t j = 0; j < kAtOnce; ++j) value[j] = number_of_key(largest[j]);
    }
    return value[kAtOnce - 1];
  }

  static TR_HD Acc lifted(number_of<Acc> x, int64_t index) {
    if constexpr (O::needs_index) {
      return O::lift(x, index);
    } else {
      return O::lift(x);
    }
  }

  const ScanJob<O, Acc>& job_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
