// Sums side by side, each of up to a block of elements, that know whether they have no error.
#pragma once

#include <limits>

#include "core/cpu/exact/ieee.h"
#include "core/cpu/exact/parts.h"
#include "core/cpu/exact/rounding.h"
#include "core/cpu/simd/lanes.h"
#include "core/plan/cpu/exact.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Elements of a sum that are added together: what is kept of it is loaded and stored once for them.
constexpr int kAtOnce = 4;

// In a double; of fp64 elements in two, the second of which adds up the errors of the first one's additions (TwoSum).
// That has no error while all elements are multiples of a unit that is not too small.
template <class T>
class Sums {
 public:
  static constexpr bool has_rest = std::is_same<T, double>::value;
  // Elements of a cache line, or fewer: what is kept of so many sums fits registers.
  static constexpr int kLine = 2 * 64 / sizeof(T) <= kVectorBytes ? 64 / sizeof(T) : kVectorBytes / 2;

  void start(int64_t count) {
    for (int64_t j = 0; j < count; ++j) sum_[j] = 0, high_[j] = 0, low_[j] = kMax;
    if constexpr (has_rest) {
      for (int64_t j = 0; j < count; ++j) error_[j] = 0;
    }
  }

  // Of add_lines() at once.
  static constexpr int64_t kMostSteps = kExactBlock / (kAtOnce * kLine);

  // x[i][j] to sum at + j, for `count` sums. A call, as these loops would otherwise stand in many places.
  __attribute__((noinline)) void add(const T* const* x, int64_t count, int64_t at = 0) {
    const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    Bits *const high = high_ + at, *const low = low_ + at;
    double *const sum = sum_ + at, *const error = error_ + (has_rest ? at : 0);
    int64_t seen = 0, added = 0;  // a vector at a time
    if constexpr (sizeof(T) >= sizeof(float)) {
      for (; seen + kLanes<Bits> <= count; seen += kLanes<Bits>) {
        Words largest = load<Bits>(high + seen), smallest = load<Bits>(low + seen);
        for (const T* row : {a, b, c, d}) see(row + seen, largest, smallest);
        store(largest, high + seen);
        store(smallest, low + seen);
        for (; added < seen + kLanes<Bits>; added += kLanes<double>) add_doubles(a, b, c, d, added, sum, error);
      }
    } else if constexpr (std::is_same<T, Half>::value) {  // compilers do not find the conversion
      for (; added + kLanes<double> <= count; added += kLanes<double>) add_doubles(a, b, c, d, added, sum, error);
    }
    TR_VECTORIZE
    for (int64_t j = seen; j < count; ++j) {
      const Bits m[] = {magnitude_of(a[j]), magnitude_of(b[j]), magnitude_of(c[j]), magnitude_of(d[j])};
      high[j] = larger(high[j], larger(larger(m[0], m[1]), larger(m[2], m[3])));
      low[j] = smaller(low[j],
                       smaller(smaller(zero_last(m[0]), zero_last(m[1])), smaller(zero_last(m[2]), zero_last(m[3]))));
    }
    TR_VECTORIZE
    for (int64_t j = added; j < count; ++j) {
      add_four(widen<double>(a[j]), widen<double>(b[j]), widen<double>(c[j]), widen<double>(d[j]), sum[j],
               error[has_rest ? j : 0]);
    }
  }

  // Consecutive elements, x[i] to sum at + i % kLine: `steps` times kAtOnce lines of kLine, kMostSteps at most. What is
  // kept of the sums stays in registers. The elements so many bytes ahead are fetched, if any are.
  __attribute__((noinline)) void add_lines(const T* x, int64_t steps, int64_t ahead, int64_t at = 0) {
    constexpr int kWords = kLine / kLanes<Bits>, kDoubles = kLine / kLanes<double>;
    const T* const end = x + steps * kAtOnce * kLine;
    Words high[kWords], low[kWords];
    Doubles sum[kDoubles] = {};
    TR_UNROLL
    for (int w = 0; w < kWords; ++w) {
      high[w] = load<Bits>(high_ + at + w * kLanes<Bits>);
      low[w] = load<Bits>(low_ + at + w * kLanes<Bits>);
    }
    for (const T* line = x; line < end; line += kAtOnce * kLine) {
      if (!has_rest && ahead > 0)
        prefetch_bytes(reinterpret_cast<const char*>(line) + ahead, kAtOnce * kLine * sizeof(T));
      TR_UNROLL
      for (int w = 0; w < kWords; ++w) {
        TR_UNROLL
        for (int i = 0; i < kAtOnce; ++i) see(line + i * kLine + w * kLanes<Bits>, high[w], low[w]);
      }
      if constexpr (has_rest) continue;
      TR_UNROLL
      for (int d = 0; d < kDoubles; ++d) {
        Doubles v[kAtOnce];
        TR_UNROLL
        for (int i = 0; i < kAtOnce; ++i) v[i] = part_of(line + i * kLine, d);
        sum[d] += (v[0] + v[1]) + (v[2] + v[3]);
      }
    }
    TR_UNROLL
    for (int w = 0; w < kWords; ++w) {
      store(high[w], high_ + at + w * kLanes<Bits>);
      store(low[w], low_ + at + w * kLanes<Bits>);
    }
    if constexpr (has_rest) {
      add_below(x, end, high, ahead, at);
    } else {
      add_parts<T>(sum, sum_ + at);
    }
  }

  // Of sums that have kLine places one after the other, to one place each.
  void fold(int64_t count) {
    for (int64_t places = kLine / 2 * count; places >= count; places /= 2) {
      TR_VECTORIZE
      for (int64_t j = 0; j < places; ++j) high_[j] = larger(high_[2 * j], high_[2 * j + 1]);
      TR_VECTORIZE
      for (int64_t j = 0; j < places; ++j) low_[j] = smaller(low_[2 * j], low_[2 * j + 1]);
      TR_VECTORIZE
      for (int64_t j = 0; j < places; ++j) {
        double error = 0;
        sum_[j] = two_sum(sum_[2 * j], sum_[2 * j + 1], error);
        if constexpr (has_rest) error_[j] = error_[2 * j] + error_[2 * j + 1] + error;
      }
    }
  }

  // Sums j and j + count become sum j.
  void merge(int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
      high_[j] = larger(high_[j], high_[j + count]);
      low_[j] = smaller(low_[j], low_[j + count]);
    }
    for (int64_t j = 0; j < count; ++j) {
      double error = 0;
      sum_[j] = two_sum(sum_[j], sum_[j + count], error);
      if constexpr (has_rest) error_[j] += error_[j + count] + error;
    }
  }

  // Whether sum j, of up to 2^log_n elements, has no error. They are below 2^top and multiples of 2^(bottom -
  // kFraction - 1): sums are below 2^(top + log_n), and the errors of as many below 2^(top + 2 log_n - 53) together.
  // add_below() has sums like those of 2^kLogBelow elements, and an element's error is below half of what that allows
  // for; its sums may reach the octave's end, which is finite then.
  TR_HD bool is_exact(int64_t j, int log_n) const {
    constexpr int kDigits = std::numeric_limits<double>::digits;
    // Exponent fields: a subnormal's unit is that of the smallest normal numbers. A power of two counts as less than it
    // is where low_ has its upper half alone.
    const int top = larger(static_cast<int>(high_[j] >> kFraction), 1);
    const int bottom = larger(static_cast<int>(zero_first(low_[j] & kOrdered) >> kFraction), 1);
    const int bits = top - bottom + kFraction + 1 + log_n;
    if constexpr (has_rest) {
      const bool is_finite = top + larger(log_n, kLogBelow + 1) <= 2 * Ieee<T>::kBias;
      return (bits + larger(log_n, kLogBelow) <= 2 * kDigits) & is_finite;
    }
    return (bits <= kDigits) & (high_[j] < kInf);
  }
  TR_HD Nearest nearest(int64_t j) const {
    if constexpr (has_rest) {
      double rest;
      const double sum = two_sum(sum_[j], error_[j], rest);
      return {sum, rest};
    }
    return {sum_[j], 0};
  }

 private:
  using Bits = typename Ieee<T>::Bits;
  using Words = Vector<Bits>;
  using Doubles = Vector<double>;
  // What of the bits is in order. Of fp64 the upper halves, since exponents alone count and AVX2 has no maximum of
  // 64-bit integers; vectors leave anything in the lower ones.
  using Ordered = Vector<std::conditional_t<has_rest, int32_t, Bits>>;
  static constexpr Bits kOrdered = has_rest ? static_cast<Bits>(-(int64_t{1} << 32)) : Bits{-1};
  static constexpr int kFraction = Ieee<T>::kFraction;
  static constexpr Bits kMax = std::numeric_limits<Bits>::max();
  static constexpr Bits kInf = static_cast<Bits>(static_cast<Bits>(2 * Ieee<T>::kBias + 1) << kFraction);

  template <class V, class U>
  static TR_HD void store(const V& v, U* x) {
    __builtin_memcpy(x, &v, sizeof(v));
  }

  // The magnitudes there, to the largest and the smallest.
  static TR_HD void see(const T* x, Words& high, Words& low) {
    const Words magnitude = load<Bits>(reinterpret_cast<const Bits*>(x)) & kMax, order = zero_last(magnitude);
    high = reinterpret_cast<Words>(larger(reinterpret_cast<Ordered>(high), reinterpret_cast<Ordered>(magnitude)));
    low = reinterpret_cast<Words>(smaller(reinterpret_cast<Ordered>(low), reinterpret_cast<Ordered>(order)));
  }

  template <class V>
  static TR_HD void add_four(V a, V b, V c, V d, V& sum, V& error) {
    if constexpr (has_rest) {
      V e[kAtOnce];
      const V ab = two_sum(a, b, e[0]), cd = two_sum(c, d, e[1]), all = two_sum(ab, cd, e[2]);
      sum = two_sum(sum, all, e[3]);
      error += (e[0] + e[1]) + (e[2] + e[3]);
    } else {
      sum += (a + b) + (c + d);
    }
  }
  static TR_HD void add_doubles(const T* a, const T* b, const T* c, const T* d, int64_t j, double* sums,
                                double* errors) {
    const auto at = [j](const T* x) { return load_at<T, double>(reinterpret_cast<const char*>(x + j), 0); };
    Doubles sum = load<double>(sums + j), error{};
    if constexpr (has_rest) error = load<double>(errors + j);
    add_four(at(a), at(b), at(c), at(d), sum, error);
    store(sum, sums + j);
    if constexpr (has_rest) store(error, errors + j);
  }

  // Lines of numbers whose largest magnitudes are known, by four operations each where TwoSum takes seven: a sum that
  // begins at 1.5 * 2^(e + kLogBelow) stays in that octave, or reaches its end, while up to 128 numbers below 2^(e + 1)
  // are added. So what each loses is the difference of two differences without error. All of it together is below what
  // is_exact() allows.
  static constexpr int kLogBelow = 9;
  static_assert(kMostSteps * kAtOnce <= 128, "the sums stay in their octave");
  template <int N>
  void add_below(const T* x, const T* end, const Words (&high)[N], int64_t ahead, int64_t at) {
    Doubles begin[N], sum[N], lost[N] = {};
    TR_UNROLL
    for (int d = 0; d < N; ++d) {
      // Of fields that have no such octave something else, which is_exact() refuses.
      const auto octave = reinterpret_cast<Vector<uint64_t>>(high[d] & kInf) + (uint64_t{kLogBelow} << kFraction);
      begin[d] = sum[d] = reinterpret_cast<Doubles>(octave | (uint64_t{1} << (kFraction - 1)));
    }
    for (const T* line = x; line < end; line += kAtOnce * kLine) {
      // The next block, as the pass that reads it first has little to do meanwhile.
      if (ahead > 0) prefetch_bytes(reinterpret_cast<const char*>(line + (end - x)), kAtOnce * kLine * sizeof(T));
      TR_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        TR_UNROLL
        for (int d = 0; d < N; ++d) {
          const Doubles v = load<double>(line + i * kLine + d * kLanes<double>), next = sum[d] + v;
          lost[d] += v - (next - sum[d]);
          sum[d] = next;
        }
      }
    }
    TR_UNROLL
    for (int d = 0; d < N; ++d) {
      double *const sums = sum_ + at + d * kLanes<double>, *const errors = error_ + at + d * kLanes<double>;
      Doubles error;
      store(two_sum(load<double>(sums), sum[d] - begin[d], error), sums);
      store(load<double>(errors) + (lost[d] + error), errors);
    }
  }

  static TR_HD Bits magnitude_of(const T& x) {
    Bits bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return static_cast<Bits>(bits & kMax);
  }
  // The order of magnitudes, but for zeros, which come last; and back.
  static TR_HD Bits zero_last(Bits magnitude) {
    using Unsigned = std::make_unsigned_t<Bits>;
    return static_cast<Bits>(static_cast<Unsigned>(magnitude) + static_cast<Unsigned>(kMax));
  }
  static TR_HD Vector<Bits> zero_last(Vector<Bits> magnitude) {
    using Unsigned = Vector<std::make_unsigned_t<Bits>>;
    constexpr auto kAdded = static_cast<std::make_unsigned_t<Bits>>(kMax);
    return reinterpret_cast<Vector<Bits>>(reinterpret_cast<Unsigned>(magnitude) + kAdded);
  }
  static TR_HD Bits zero_first(Bits magnitude) {
    using Unsigned = std::make_unsigned_t<Bits>;
    return static_cast<Bits>(static_cast<Unsigned>(magnitude) - static_cast<Unsigned>(kMax));
  }
  template <class U>
  static TR_HD U larger(U a, U b) {
    return a > b ? a : b;
  }
  template <class U>
  static TR_HD U smaller(U a, U b) {
    return a < b ? a : b;
  }
  template <class V>
  static TR_HD V two_sum(V a, V b, V& error) {
    const V sum = a + b, of_b = sum - a;
    error = (a - (sum - of_b)) + (b - of_b);
    return sum;
  }

  double sum_[kMostSums], error_[has_rest ? kMostSums : 1];
  Bits high_[kMostSums], low_[kMostSums];  // the largest magnitude, and the smallest but for zero
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
