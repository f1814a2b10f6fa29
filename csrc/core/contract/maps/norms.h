// Rows over their root mean square, or their standard deviation.
#pragma once

#include "core/contract/exponential.h"
#include "core/contract/maps/map.h"
#include "core/contract/partner.h"

namespace torch_reduce {

// The reductions that a weight's gradient is, of normalised factors, and a channel's statistics.
constexpr Op kOfWeight = Op::Dot, kOfChannel = Op::VarianceAndMean;

TR_HD float root_of(float x) { return __builtin_sqrtf(x); }
TR_HD double root_of(double x) { return __builtin_sqrt(x); }

struct RmsNorm : MapTraits {
  using Reduces = Sumsq;
  static constexpr bool reads_weight = true, writes_row = true;
  template <class Word>
  struct Row {
    Word inverse;  // of the root
  };
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NoWords<Word>&) {
    return at.x;
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word* total, const RowOf<Word>& row, const NoWords<Word>&) {
    return {1 / root_of(*total / static_cast<Word>(row.n) + row.epsilon)};
  }
  template <class Word>
  static TR_HD Word normal(Word x, const Row<Word>& row) {
    return x * row.inverse;
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return normal(at.x, row) * at.weight;
  }
};

// Of the sum of two tensors.
struct AddRmsNorm : RmsNorm {
  static constexpr bool reads_second = true, adds_second = true;
};

// The mean in two words: their difference from an element is right where the mean is large, too.
struct LayerNorm : MapTraits {
  using Reduces = Variance;
  static constexpr bool reads_weight = true, reads_bias = true, writes_row = true;
  template <class Word>
  using Row = NormRow<Word>;
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NoWords<Word>&) {
    return at.x;
  }
  // Divisions and roots of doubles would take longer than all else of a short row. The mean's quotient is corrected by
  // what the product lacks, so that of equal elements is exact.
  static TR_HD Row<float> finish(const PowerSums<float>* total, const RowOf<float>& row, const NoWords<float>&) {
    const double share = total->sum * row.share;
    const double lacks = multiply_add(-static_cast<double>(row.n), share, total->sum);
    const double mean = multiply_add(lacks, row.share, share) + 0.0;
    const double variance = total->squares * row.share - mean * mean;
    const auto high = static_cast<float>(mean);
    return of(high, static_cast<float>(mean - high), variance, row);
  }
  static TR_DEVICE_CALL Row<double> finish(const PowerSums<double>* total, const RowOf<double>& row,
                                           const NoWords<double>&) {
    const Count count{row.n, static_cast<double>(row.n)};
    const double high = Variance::second(*total, count);
    const TwoDoubles mean = divide(total->sum, count.degrees);
    return of(high, (mean.high - high) + mean.low, Variance::finish(*total, count), row);
  }
  template <class Word>
  static TR_HD Word normal(Word x, const Row<Word>& row) {
    return row.normal(x);
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return normal(at.x, row) * at.weight + at.bias;
  }

 private:
  template <class Word>
  static TR_HD Row<Word> of(Word mean, Word rest, double variance, const RowOf<Word>& row) {
    const Word inverse = 1 / root_of(static_cast<Word>(variance < 0 ? 0 : variance) + row.epsilon);
    return {mean, rest == rest ? rest : 0, inverse};
  }
};

// Of the gradient g, and in second place x, with the row of the norm: with g w = h and the normalised x,
// (h - x mean(h x)) / root.
struct RmsNormBackward : MapTraits {
  static constexpr int parameters = 1;
  static constexpr bool reads_second = true, reads_weight = true, weighs_numbers = true;
  template <class Word>
  using Read = RmsNorm::Row<Word>;
  template <class Word>
  struct Row {
    RmsNorm::Row<Word> norm;
    Word mean;
  };
  template <class Word>
  static TR_HD Word normal(Word x, const Read<Word>& norm) {
    return RmsNorm::normal(x, norm);
  }
  template <int, class Word>
  static TR_HD Word number_of(Word h, Word normal) {
    return h * normal;
  }
  template <int Which, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const Read<Word>& norm) {
    return number_of<Which>(at.x * at.weight, normal(at.second, norm));
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word* total, const RowOf<Word>& row, const Read<Word>& norm) {
    return {norm, *total / static_cast<Word>(row.n)};
  }
  template <class Word>
  static TR_HD Word value_of(Word h, Word normal, const Row<Word>& row) {
    return (h - normal * row.mean) * row.norm.inverse;
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return value_of(at.x * at.weight, normal(at.second, row.norm), row);
  }
};

// The same less the mean of h.
struct LayerNormBackward : MapTraits {
  static constexpr int parameters = 2;
  static constexpr int sums = 2;
  static constexpr bool reads_second = true, reads_weight = true, weighs_numbers = true;
  template <class Word>
  using Read = LayerNorm::Row<Word>;
  template <class Word>
  struct Row {
    LayerNorm::Row<Word> norm;
    Word mean, slope;
  };
  template <class Word>
  static TR_HD Word normal(Word x, const Read<Word>& norm) {
    return LayerNorm::normal(x, norm);
  }
  template <int Which, class Word>
  static TR_HD Word number_of(Word h, Word normal) {
    return Which == 0 ? h : h * normal;
  }
  template <int Which, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const Read<Word>& norm) {
    return number_of<Which>(at.x * at.weight, normal(at.second, norm));
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word* total, const RowOf<Word>& row, const Read<Word>& norm) {
    return {norm, total[0] / static_cast<Word>(row.n), total[1] / static_cast<Word>(row.n)};
  }
  template <class Word>
  static TR_HD Word value_of(Word h, Word normal, const Row<Word>& row) {
    return ((h - row.mean) - normal * row.slope) * row.norm.inverse;
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return value_of(at.x * at.weight, normal(at.second, row.norm), row);
  }
};

// layer_norm of groups of channels, and its derivative.
struct GroupNorm : LayerNorm {
  static constexpr bool has_channels = true;
};
struct GroupNormBackward : LayerNormBackward {
  static constexpr bool has_channels = true;
  static constexpr int parameters = 0;
};

// Of a channel, the sums of the gradient and of its products with the normalised elements.
struct ChannelSums : MapTraits {
  static constexpr int sums = 2;
  static constexpr bool reads_second = true, writes_row = true, writes_values = false;
  template <class Word>
  using Read = NormRow<Word>;
  template <class Word>
  struct Row {
    Word sum, products;
  };
  template <int Which, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NormRow<Word>& norm) {
    return Which == 0 ? at.x : at.x * norm.normal(at.second);
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word* total, const RowOf<Word>&, const NormRow<Word>&) {
    return {total[0], total[1]};
  }
};

}  // namespace torch_reduce
