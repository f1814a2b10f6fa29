// One map of elements by channel, described. No pointers.
#pragma once

#include "core/contract/maps/channels.h"
#include "core/contract/types.h"

namespace torch_reduce {

// Elements lie one after the other: so many neighbours of a channel, as many of the next one, and the first one's again
// after the last. Words of channels are of the compute type.
struct ChannelProblem {
  ChannelMap map;
  DType in, compute;  // of elements and results; of words
  int64_t elements, channels, neighbours;
  double epsilon;
};
TR_HD int64_t elements_of_channel(const ChannelProblem& p) { return p.elements / p.channels; }

// Null: not given. Words are in order of the channels: `mean` and `variance` are read and `row` is written by the norm,
// the mean, 0, and one over the root, each of all channels; its derivative reads that, and of each channel the sums of
// the gradient and of its products with the normalised elements.
struct ChannelBuffers {
  const void *x, *second, *mean, *variance, *weight, *bias, *sums;
  void *row, *out;
};

// The words of channels, as a kernel reads them.
template <class Word>
struct ChannelWords {
  const Word *mean, *inverse, *weight, *bias, *sums;
  Word count;  // of elements of a channel

  TR_HD ChannelWords(const ChannelProblem& p, const ChannelBuffers& b)
      : mean(static_cast<const Word*>(b.row)),
        inverse(mean + 2 * p.channels),
        weight(static_cast<const Word*>(b.weight)),
        bias(static_cast<const Word*>(b.bias)),
        sums(static_cast<const Word*>(b.sums)),
        count(static_cast<Word>(elements_of_channel(p))) {}

  TR_HD Channel<Word> at(int64_t c) const {
    return {mean[c],
            inverse[c],
            weight == nullptr ? Word(1) : weight[c],
            bias == nullptr ? Word(-0.0) : bias[c],
            sums == nullptr ? Word(0) : sums[2 * c] / count,
            sums == nullptr ? Word(0) : sums[2 * c + 1] / count};
  }
};

}  // namespace torch_reduce
