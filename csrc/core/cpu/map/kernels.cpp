// Maps, for one instruction set (dispatch/kernels.h).
#include "core/cpu/map/kernels.h"

#include "core/cpu/map/channels.h"
#include "core/cpu/map/rows.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

constexpr int64_t kAlone = 1 << 14;  // elements, of all rows, that wake no thread
constexpr int64_t kGrain = 1 << 12;  // that a thread takes at least

struct Call {
  const MapProblem& problem;
  const MapBuffers& buffers;
};
template <class M, class Word>
void map_rows(void* context, int64_t begin, int64_t end) {
  const Call& call = *static_cast<const Call*>(context);
  MapRows<M, Word>(call.problem, call.buffers).run(begin, end);
}

struct ChannelCall {
  const ChannelProblem& problem;
  const ChannelBuffers& buffers;
};
template <class M, class Word>
void map_channels(void* context, int64_t begin, int64_t end) {
  const ChannelCall& call = *static_cast<const ChannelCall*>(context);
  ChannelPieces<M, Word>(call.problem, call.buffers).run(begin, end);
}

template <class Word>
void write_channel_rows(const ChannelProblem& p, const ChannelBuffers& b) {
  Word* const row = static_cast<Word*>(b.row);
  for (int64_t c = 0; c < p.channels; ++c) {
    row[c] = static_cast<const Word*>(b.mean)[c];
    row[p.channels + c] = 0;
    row[2 * p.channels + c] = inverse_of(static_cast<const Word*>(b.variance)[c], static_cast<Word>(p.epsilon));
  }
}

template <class Word>
Task channel_task(const ChannelProblem& p, const ChannelBuffers& b) {
  return with_channel_map(p.map, [&](auto tag) -> Task {
    using M = typename decltype(tag)::type;
    if constexpr (M::writes_rows) write_channel_rows<Word>(p, b);
    return map_channels<M, Word>;
  });
}

}  // namespace

void run_map(const MapProblem& p, const MapBuffers& buffers, const Threads& threads) {
  Call call{p, buffers};
  const Task task = with_map(p.map, [&](auto tag) -> Task {
    using M = typename decltype(tag)::type;
    return p.compute == DType::Float64 ? map_rows<M, double> : map_rows<M, float>;
  });
  if (threads.count <= 1 || p.rows == 1 || p.rows < kAlone / p.n) return task(&call, 0, p.rows);
  threads.parallel_for(p.rows, p.n < kGrain ? kGrain / p.n : 1, &call, task);
}

void run_channel_map(const ChannelProblem& p, const ChannelBuffers& buffers, const Threads& threads) {
  ChannelCall call{p, buffers};
  const Task task = p.compute == DType::Float64 ? channel_task<double>(p, buffers) : channel_task<float>(p, buffers);
  if (threads.count <= 1 || p.elements < kAlone) return task(&call, 0, p.elements);
  threads.parallel_for(p.elements, kGrain, &call, task);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
