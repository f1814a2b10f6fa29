// Maps of elements by channel: a thread has vectors of 16 bytes, and the words of their channels.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/lane/fast_divide.cuh"
#include "core/cuda/map/places.cuh"
#include "core/plan/gpu/channels.h"

namespace torch_reduce::cuda {

template <class Word>
struct ChannelArgs {
  const void *x, *second;
  void* out;
  ChannelWords<Word> words;
  int64_t elements, channels, neighbours;
  int64_t rows_apart;  // Rows: those of a thread
  FastDivisor across;  // Rows: vectors of a row
};

template <class M, class In, class Word, int V>
__device__ __forceinline__ void map_vector(const uint4& x, const uint4& second, const Channel<Word> (&channel)[V],
                                           Word (&y)[V]) {
  Word other[V]{};
  widen_vector<In>(x, y);
  if constexpr (M::reads_second) widen_vector<In>(second, other);
#pragma unroll
  for (int e = 0; e < V; ++e) y[e] = M::value(y[e], other[e], channel[e]);
}

// Of V neighbours from an element on.
template <Channels channels, class Word, int V>
__device__ __forceinline__ void read_channels_of(const ChannelArgs<Word>& a, int64_t first, Channel<Word> (&to)[V]) {
  const int64_t run = quotient(first, a.neighbours), place = first - run * a.neighbours;
  int64_t c = run - quotient(run, a.channels) * a.channels;
  if constexpr (channels == Channels::Any) {
    int64_t left = a.neighbours - place;
#pragma unroll
    for (int e = 0; e < V; ++e, --left) {
      if (left == 0) {
        left = a.neighbours;
        c = c + 1 == a.channels ? 0 : c + 1;
      }
      to[e] = a.words.at(c);
    }
  } else {
    const int64_t left = a.neighbours - place;
    const Channel<Word> one = a.words.at(c);
    const bool is_one = channels == Channels::One || left >= V;
    const Channel<Word> next = is_one ? one : a.words.at(c + 1 == a.channels ? 0 : c + 1);
#pragma unroll
    for (int e = 0; e < V; ++e) to[e] = is_one || e < left ? one : next;
  }
}

template <class M, class In, class Word, Channels channels>
__global__ void __launch_bounds__(kChannelThreads) channel_map(const __grid_constant__ ChannelArgs<Word> a) {
  using Out = std::conditional_t<M::gives_words, Word, In>;
  constexpr int V = vector_width<In>;
  constexpr bool of_rows = channels == Channels::Rows;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kChannelThreads + threadIdx.x;
  int64_t first, step, column = 0;
  if constexpr (of_rows) {
    const uint32_t row = a.across.quotient(static_cast<uint32_t>(thread));
    column = (thread - static_cast<int64_t>(row) * a.across.divisor) * V;
    first = row < a.rows_apart ? row * a.channels + column : a.elements;
    step = a.rows_apart * a.channels;
  } else {
    first = (static_cast<int64_t>(blockIdx.x) * kChannelThreads * kChannelLoads + threadIdx.x) * V;
    step = kChannelThreads * V;
  }
  const In* const x = static_cast<const In*>(a.x);
  const In* const second = static_cast<const In*>(a.second);
  wait_for_previous_kernel();
  uint4 raw[kChannelLoads], other[kChannelLoads];
#pragma unroll
  for (int i = 0; i < kChannelLoads; ++i) {
    const int64_t at = first + i * step;
    if (at + V > a.elements) continue;
    raw[i] = load16(x + at);
    if constexpr (M::reads_second) other[i] = load16(second + at);
  }
  allow_next_kernel_if_small();
  Channel<Word> channel[V];
  if constexpr (of_rows) {
    if (first < a.elements) {
#pragma unroll
      for (int e = 0; e < V; ++e) channel[e] = a.words.at(column + e);
    }
  }
#pragma unroll
  for (int i = 0; i < kChannelLoads; ++i) {
    const int64_t at = first + i * step;
    const int count = static_cast<int>(min(a.elements - at, int64_t{V}));
    if (count <= 0) break;
    if constexpr (!of_rows) read_channels_of<channels>(a, at, channel);
    if (count < V) {
      raw[i] = load_places(x + at, 1, count);
      if constexpr (M::reads_second) other[i] = load_places(second + at, 1, count);
    }
    Word y[V];
    map_vector<M, In>(raw[i], other[i], channel, y);
    write_elements<Out>(a.out, at, 1, count, /*vectors=*/true, y);
  }
}

// What a norm keeps of its channels.
template <class Word>
struct ChannelRowsArgs {
  const Word *mean, *variance;
  Word* row;
  Word epsilon;
  int64_t channels;
};
template <class Word>
__global__ void __launch_bounds__(kChannelThreads) channel_rows(const __grid_constant__ ChannelRowsArgs<Word> a) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kChannelThreads + threadIdx.x;
  wait_for_previous_kernel();
  allow_next_kernel();
  if (c >= a.channels) return;
  a.row[c] = a.mean[c];
  a.row[a.channels + c] = 0;
  a.row[2 * a.channels + c] = inverse_of(a.variance[c], a.epsilon);
}

}  // namespace torch_reduce::cuda
