// Maps of elements by what their channel has: nothing is reduced. docs/order.md defines the bits of each.
#pragma once

#include "core/contract/maps/norms.h"

namespace torch_reduce {

enum class ChannelMap : uint8_t { BatchNorm, BatchNormBackward, NormalProducts };

// What a channel has: one over the root of its variance beside the mean; what is not given is 1, or -0; and the means
// of the gradient and of its products with the normalised elements, 0 where nothing comes through the statistics.
template <class Word>
struct Channel {
  Word mean, inverse, weight, bias, of_gradient, slope;

  TR_HD Word normal(Word x) const { return (x - mean) * inverse; }
};

template <class Word>
TR_HD Word inverse_of(Word variance, Word epsilon) {
  return 1 / root_of(variance + epsilon);
}

// Each map gives elements of the input's type, or words. Of each channel it may write what a derivative reads: its
// mean, 0 and one over the root of its variance.
struct BatchNorm {
  static constexpr bool reads_second = false, gives_words = false, writes_rows = true;
  template <class Word>
  static TR_HD Word value(Word x, Word, const Channel<Word>& c) {
    return c.normal(x) * c.weight + c.bias;
  }
};

// Of the gradient, and in second place x. An infinite x has a gradient where nothing comes through the statistics.
struct BatchNormBackward {
  static constexpr bool reads_second = true, gives_words = false, writes_rows = false;
  template <class Word>
  static TR_HD Word value(Word g, Word x, const Channel<Word>& c) {
    const Word along = c.slope == 0 ? Word(0) : c.normal(x) * c.slope;
    return (((g - c.of_gradient) - along) * c.inverse) * c.weight;
  }
};

// Of the gradient, with the normalised elements of what stands in second place: what a weight's gradient sums up.
struct NormalProducts {
  static constexpr bool reads_second = true, gives_words = true, writes_rows = false;
  template <class Word>
  static TR_HD Word value(Word g, Word x, const Channel<Word>& c) {
    return g * c.normal(x);
  }
};

template <class M>
struct ChannelMapTag {
  using type = M;
};
// Calls f with the tag of a map's struct.
template <class F>
TR_HD auto with_channel_map(ChannelMap map, F f) {
  switch (map) {
    case ChannelMap::BatchNorm:
      return f(ChannelMapTag<BatchNorm>());
    case ChannelMap::BatchNormBackward:
      return f(ChannelMapTag<BatchNormBackward>());
    default:
      return f(ChannelMapTag<NormalProducts>());
  }
}

}  // namespace torch_reduce
