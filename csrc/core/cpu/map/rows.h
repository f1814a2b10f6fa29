// Maps a row at a time: its numbers are reduced chunk by chunk, as rows/rows.h does it, and its elements then become
// results, while the row is in the cache.
#pragma once

#include "core/cpu/element/with_type.h"
#include "core/cpu/map/kernels.h"
#include "core/cpu/tree/chunks.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Word>
using ReadWords = void (*)(const char* x, int64_t stride, int64_t count, Word* __restrict to);
template <class Word>
using WriteWords = void (*)(const Word* __restrict x, int64_t count, char* to, int64_t stride);

template <class Out, class Word>
void narrow_words(const Word* __restrict x, int64_t count, char* bytes, int64_t stride) {
  Out* out = reinterpret_cast<Out*>(bytes);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = Narrow<Out, Word>::from(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * stride] = Narrow<Out, Word>::from(x[i]);
  }
}

// Calls f(T()) for a floating type.
template <class F>
TR_HD auto with_floating_type(DType t, F f) {
  switch (t) {
    case DType::Float16:
      return f(Half());
    case DType::BFloat16:
      return f(BFloat16());
    case DType::Float32:
      return f(float());
    default:
      return f(double());
  }
}

template <class M, class Word>
class MapRows {
 public:
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  using Row = row_of_map<M, Word>;
  using Read = read_of_map<M, Word>;

  MapRows(const MapProblem& p, const MapBuffers& b) : p_(p), b_(b) {
    read_ = with_floating_type(p.in, [](auto t) -> ReadWords<Word> { return convert<decltype(t), Word>; });
    read_parameters_ =
        with_floating_type(p.parameters, [](auto t) -> ReadWords<Word> { return convert<decltype(t), Word>; });
    write_ = with_floating_type(p.out, [](auto t) -> WriteWords<Word> { return narrow_words<decltype(t), Word>; });
    write_sum_ = with_floating_type(p.in, [](auto t) -> WriteWords<Word> { return narrow_words<decltype(t), Word>; });
    if (!M::reads_second) fill(second_, Word(0));
    if (!M::reads_weight || b.weight == nullptr) fill(weight_, Word(1));
    if (!M::reads_bias || b.bias == nullptr) fill(bias_, Word(-0.0));
  }

  void run(int64_t begin, int64_t end) {
    const RowOf<Word> of{p_.n, 1 / static_cast<double>(p_.n), static_cast<Word>(p_.epsilon),
                         static_cast<Word>(p_.scale)};
    for (int64_t i = begin; i < end; ++i) {
      const MapStrides at = place_of_row(p_, i);
      const Inputs in{static_cast<const char*>(b_.x) + at.x * size(p_.in),
                      static_cast<const char*>(b_.second) + at.second * size(p_.in),
                      b_.mask == nullptr ? nullptr : b_.mask + at.mask,
                      static_cast<char*>(b_.sum) + at.out * size(p_.in), M::has_channels ? first_channel(p_, i) : 0};
      Read saved;
      if constexpr (!std::is_empty<Read>::value) saved = static_cast<const Read*>(b_.read)[i];
      Acc total[M::sums];
      if constexpr (M::reduces) reduce(in, saved, total);
      const Row row = M::finish(total, of, saved);
      if constexpr (M::writes_row) {
        if (b_.written != nullptr) static_cast<Row*>(b_.written)[i] = row;
      }
      if constexpr (M::writes_values) write(in, row, static_cast<char*>(b_.out) + at.out * size(p_.out));
    }
  }

 private:
  // Of a row; and where its sum is written.
  struct Inputs {
    const char *x, *second;
    const bool* mask;
    char* sum;
    int64_t channel;  // the first one of the row
  };

  static int64_t size(DType type) { return static_cast<int64_t>(size_of(type)); }
  static void fill(Word* words, Word value) {
    for (int i = 0; i < kChunk; ++i) words[i] = value;
  }

  // The places from `first` on. Those of short rows keep what they hold of weight and bias.
  void read(const Inputs& in, int64_t first, int64_t count, bool bias) {
    read_(in.x + first * p_.along.x * size(p_.in), p_.along.x, count, x_);
    if constexpr (M::reads_second) {
      read_(in.second + first * p_.along.second * size(p_.in), p_.along.second, count, second_);
    }
    if constexpr (M::adds_second) {
      for (int64_t i = 0; i < count; ++i) x_[i] += second_[i];
      char* const sum = in.sum + first * p_.along.out * size(p_.in);
      write_sum_(x_, count, sum, p_.along.out);
      read_(sum, p_.along.out, count, x_);
    }
    if constexpr (M::scales) {
      for (int64_t i = 0; i < count; ++i) x_[i] *= static_cast<Word>(p_.scale);
    }
    if constexpr (M::takes_mask) {
      if (in.mask != nullptr) mask_out(in.mask + first * p_.along.mask, count);
    }
    if constexpr (M::has_channels) {
      read_channels(b_.weight, in.channel, first, count, weight_);
      if (bias) read_channels(b_.bias, in.channel, first, count, bias_);
      return;
    }
    const bool holds = held_ == first;
    if constexpr (M::reads_weight) {
      if (b_.weight != nullptr && !holds) {
        read_parameters_(static_cast<const char*>(b_.weight) + first * size(p_.parameters), 1, count, weight_);
      }
    }
    held_ = first;
    if constexpr (M::reads_bias) {
      if (b_.bias != nullptr && bias && held_bias_ != first) {
        read_parameters_(static_cast<const char*>(b_.bias) + first * size(p_.parameters), 1, count, bias_);
        held_bias_ = first;
      }
    }
  }
  void read_channels(const void* parameters, int64_t channel, int64_t first, int64_t count, Word* to) const {
    if (parameters == nullptr) return;
    for (int64_t i = 0; i < count;) {
      const int64_t of_row = (first + i) / p_.channel, end = smaller((of_row + 1) * p_.channel - first, count);
      Word value;
      read_parameters_(static_cast<const char*>(parameters) + (channel + of_row) * size(p_.parameters), 1, 1, &value);
      while (i < end) to[i++] = value;
    }
  }
  void mask_out(const bool* mask, int64_t count) {
    for (int64_t i = 0; i < count; ++i) x_[i] = mask[i * p_.along.mask] ? x_[i] : static_cast<Word>(M::kMasked);
  }
  AtPlace<Word> at(int64_t i) const { return {x_[i], second_[i], weight_[i], bias_[i]}; }

  void reduce(const Inputs& in, const Read& saved, Acc* total) {
    Stack<O, Acc> stack[M::sums];
    for (int64_t first = 0; first < p_.n; first += kChunk) {
      const int64_t count = smaller(p_.n - first, kChunk);
      read(in, first, count, false);
      stack[0].push(chunk<0>(saved, count));
      if constexpr (M::sums > 1) stack[1].push(chunk<1>(saved, count));
    }
    for (int s = 0; s < M::sums; ++s) total[s] = stack[s].result();
  }

  template <int Which>
  Acc chunk(const Read& saved, int64_t count) {
    for (int64_t i = 0; i < count; ++i) number_[i] = M::template number<Which>(at(i), saved);
    alignas(64) Acc tree[kLeaves];
    if constexpr (has_vectors<O, Acc>) {
      const char* const numbers = reinterpret_cast<const char*>(number_);
      count == kChunk ? chunks<O, Word, Acc>(numbers, 1, Ahead::Nothing, tree)
                      : rest<O, Word, Acc>(numbers, count, Ahead::Nothing, tree);
      fold<O>(tree, kSubtrees, 1);
    } else {
      const int64_t leaves = smaller(count, kLeaves);
      for (int64_t l = 0; l < leaves; ++l) tree[l] = lift<O>(number_[l]);
      int64_t all = 1;  // a power of two
      while (all < leaves) all *= 2;
      for (int64_t l = leaves; l < all; ++l) tree[l] = O::template identity<Acc>();
      for (int64_t first = kLeaves; first < count; first += kLeaves) {
        const int64_t longer = smaller(count - first, kLeaves);
        for (int64_t l = 0; l < longer; ++l) tree[l] = O::combine(tree[l], lift<O>(number_[first + l]));
      }
      fold<O>(tree, all, 1);
    }
    return tree[0];
  }

  void write(const Inputs& in, const Row& row, char* out) {
    for (int64_t first = 0; first < p_.n; first += kChunk) {
      const int64_t count = smaller(p_.n - first, kChunk);
      if (p_.n > kChunk || M::reads_bias || !M::reduces) read(in, first, count, true);
      map(count, row);
      write_(number_, count, out + first * p_.along.out * size(p_.out), p_.along.out);
    }
  }

  // Loops without branches, which compilers vectorise.
  void map(int64_t count, const Row& row) {
    if constexpr (M::has_common_value) {
      int common = 1;
      for (int64_t i = 0; i < count; ++i) common &= M::is_common(at(i), row);
      if (common != 0) {
        for (int64_t i = 0; i < count; ++i) number_[i] = M::common_value(at(i), row);
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) number_[i] = M::value(at(i), row);
  }

  const MapProblem& p_;
  const MapBuffers& b_;
  ReadWords<Word> read_, read_parameters_;
  WriteWords<Word> write_, write_sum_;
  int64_t held_ = -1, held_bias_ = -1;  // the first place whose weight and bias are here
  alignas(64) Word x_[kChunk];
  alignas(64) Word second_[kChunk];
  alignas(64) Word weight_[kChunk];
  alignas(64) Word bias_[kChunk];
  alignas(64) Word number_[kChunk];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
