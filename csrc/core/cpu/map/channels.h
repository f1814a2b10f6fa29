// Maps of elements by channel: some elements at a time, beside the words of their channels.
#pragma once

#include "core/cpu/map/kernels.h"
#include "core/cpu/map/rows.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class M, class Word>
class ChannelPieces {
 public:
  ChannelPieces(const ChannelProblem& p, const ChannelBuffers& b)
      : p_(p),
        b_(b),
        words_(p, b),
        read_(with_floating_type(p.in, [](auto t) -> ReadWords<Word> { return convert<decltype(t), Word>; })),
        bytes_(static_cast<int64_t>(size_of(p.in))),
        out_bytes_(M::gives_words ? static_cast<int64_t>(sizeof(Word)) : bytes_),
        write_(with_floating_type(M::gives_words ? p.compute : p.in,
                                  [](auto t) -> WriteWords<Word> { return narrow_words<decltype(t), Word>; })) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kChunk) {
      const int64_t count = smaller(end - first, kChunk);
      read_(static_cast<const char*>(b_.x) + first * bytes_, 1, count, x_);
      if constexpr (M::reads_second) read_(static_cast<const char*>(b_.second) + first * bytes_, 1, count, second_);
      map(first, count);
      write_(x_, count, static_cast<char*>(b_.out) + first * out_bytes_, 1);
    }
  }

 private:
  // Elements of one channel after those of another; or one of each, which have their words side by side.
  void map(int64_t first, int64_t count) {
    const int64_t run = first / p_.neighbours;
    int64_t c = run % p_.channels, left = p_.neighbours - (first - run * p_.neighbours);
    for (int64_t i = 0; i < count;) {
      if (p_.neighbours == 1) {
        const int64_t some = smaller(count - i, p_.channels - c), from = hold(c, some);
        for (int64_t k = 0; k < some; ++k) x_[i + k] = M::value(x_[i + k], second_[i + k], held(from + k));
        i += some;
        c = 0;
        continue;
      }
      const Channel<Word> channel = words_.at(c);
      const int64_t end = smaller(count, i + left);
      for (; i < end; ++i) x_[i] = M::value(x_[i], second_[i], channel);
      c = c + 1 == p_.channels ? 0 : c + 1;
      left = p_.neighbours;
    }
  }

  // The words of some channels, or of all if they are few, each kind apart, as vectors read them. Returns where the
  // first one's stand.
  int64_t hold(int64_t c, int64_t count) {
    if (c < first_held_ || c + count > first_held_ + count_held_) {
      first_held_ = p_.channels <= kChunk ? 0 : c;
      count_held_ = smaller(p_.channels - first_held_, kChunk);
      for (int64_t k = 0; k < count_held_; ++k) {
        const Channel<Word> channel = words_.at(first_held_ + k);
        mean_[k] = channel.mean;
        inverse_[k] = channel.inverse;
        weight_[k] = channel.weight;
        bias_[k] = channel.bias;
        of_gradient_[k] = channel.of_gradient;
        slope_[k] = channel.slope;
      }
    }
    return c - first_held_;
  }
  Channel<Word> held(int64_t k) const {
    return {mean_[k], inverse_[k], weight_[k], bias_[k], of_gradient_[k], slope_[k]};
  }

  const ChannelProblem& p_;
  const ChannelBuffers& b_;
  const ChannelWords<Word> words_;
  const ReadWords<Word> read_;
  const int64_t bytes_, out_bytes_;  // of an element
  const WriteWords<Word> write_;
  alignas(64) Word x_[kChunk];
  alignas(64) Word second_[kChunk] = {};
  int64_t first_held_ = 0, count_held_ = 0;
  alignas(64) Word mean_[kChunk], inverse_[kChunk], weight_[kChunk], bias_[kChunk],
      of_gradient_[kChunk], slope_[kChunk];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
