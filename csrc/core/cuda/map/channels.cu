#include "core/contract/integers.h"
#include "core/cuda/map/channels.cuh"
#include "core/cuda/map/channels.h"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

template <class M, class In, class Word>
cudaError_t start_map(const ChannelPlan& plan, const ChannelProblem& p, const ChannelBuffers& b, const Launch& l) {
  const ChannelArgs<Word> args{b.x,        b.second,     b.out,           ChannelWords<Word>(p, b), p.elements,
                               p.channels, p.neighbours, plan.rows_apart, FastDivisor(plan.across)};
  Launch launch = l;
  launch.grid = plan.grid;
  switch (plan.channels) {
    case Channels::One:
      return start(channel_map<M, In, Word, Channels::One>, args, launch);
    case Channels::Two:
      return start(channel_map<M, In, Word, Channels::Two>, args, launch);
    case Channels::Rows:
      return start(channel_map<M, In, Word, Channels::Rows>, args, launch);
    default:
      return start(channel_map<M, In, Word, Channels::Any>, args, launch);
  }
}

template <class Word>
cudaError_t start_rows(const ChannelProblem& p, const ChannelBuffers& b, Launch l) {
  const ChannelRowsArgs<Word> args{static_cast<const Word*>(b.mean), static_cast<const Word*>(b.variance),
                                   static_cast<Word*>(b.row), static_cast<Word>(p.epsilon), p.channels};
  l.grid = ceil_div(p.channels, kChannelThreads);
  return start(channel_rows<Word>, args, l);
}

template <class In, class Word>
cudaError_t start_channels(const ChannelPlan& plan, const ChannelProblem& p, const ChannelBuffers& b, const Launch& l) {
  return with_channel_map(p.map, [&](auto tag) -> cudaError_t {
    using M = typename decltype(tag)::type;
    const cudaError_t status = M::writes_rows ? start_rows<Word>(p, b, l) : cudaSuccess;
    if (status != cudaSuccess || p.elements == 0) return status;
    return start_map<M, In, Word>(plan, p, b, l);
  });
}

}  // namespace

cudaError_t launch_channel_map(const ChannelPlan& plan, const ChannelProblem& p, const ChannelBuffers& b,
                               cudaStream_t stream, bool dependent) {
  const Launch l{1, kChannelThreads, 0, stream, dependent};
  switch (p.in) {
    case DType::Float16:
      return start_channels<Half, float>(plan, p, b, l);
    case DType::BFloat16:
      return start_channels<BFloat16, float>(plan, p, b, l);
    case DType::Float32:
      return start_channels<float, float>(plan, p, b, l);
    default:
      return start_channels<double, double>(plan, p, b, l);
  }
}

}  // namespace torch_reduce::cuda
