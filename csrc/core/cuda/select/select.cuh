// A CTA selects elements of a row, or of a segment of it, in two reads. Each thread finds the best of its own elements;
// as many elements as are selected are at least as good as the one of that number among the best. Whatever is as good
// as that is then collected and sorted. If there is no room for all of it, what was collected gives a better bound, and
// the elements are read again. What comes out is the same whatever is collected first.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/lane/any_element.cuh"
#include "core/cuda/lane/index.cuh"
#include "core/cuda/lane/unaligned.cuh"
#include "core/cuda/select/select.h"

namespace torch_reduce::cuda {

struct SelectArgs {
  Source source;
  const void* items;                    // those that segments of the rows have left, in place of the source
  void* out;                            // indices, or where rows have several segments, items
  int64_t rows, n, stride, out_stride;  // of elements and results of a row, the former in bytes
  int64_t segments, segment, grid;
  int count, log_room;
  bool largest, reads_vectors;
  KeptIndex<Access::Strided> kept;
};

// The first 2^log_size items in descending order (K. E. Batcher, "Sorting networks and their applications", 1968).
template <class Item>
__device__ __forceinline__ void sort_items(Item* items, int log_size) {
  for (int log_run = 1; log_run <= log_size; ++log_run) {
    for (int log_apart = log_run - 1; log_apart >= 0; --log_apart) {
      __syncthreads();
      for (int pair = threadIdx.x; pair < 1 << (log_size - 1); pair += blockDim.x) {
        const int first = ((pair >> log_apart) << (log_apart + 1)) | (pair & ((1 << log_apart) - 1));
        const int second = first + (1 << log_apart);
        const Item a = items[first], b = items[second];
        const bool ascends = (first >> log_run) & 1;
        if ((a.rank() < b.rank()) != ascends) {
          items[first] = b;
          items[second] = a;
        }
      }
    }
  }
  __syncthreads();
}

// Calls f with each element from number `begin` to `end` that is this thread's.
template <class In, class Number, class F>
__device__ __forceinline__ void for_each_element(const SelectArgs& a, int64_t row, int64_t begin, int64_t end, F f) {
  constexpr int kAtOnce = 4;
  const int64_t from = reinterpret_cast<int64_t>(a.source.data) + a.kept.in(row);
  int64_t first = begin;  // of the elements that are read one by one
  if constexpr (!std::is_same<In, Any>::value) {
    constexpr int kOfVector = 16 / sizeof(In);
    const int64_t vectors = a.reads_vectors ? (end - begin) / kOfVector : 0;
    for (int64_t v = threadIdx.x; v < vectors; v += kAtOnce * blockDim.x) {
      uint4 loaded[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t vector = v + u * static_cast<int64_t>(blockDim.x);
        const int64_t address = from + (begin + vector * kOfVector) * static_cast<int64_t>(sizeof(In));
        load16_if(vector < vectors, reinterpret_cast<const void*>(address), loaded[u]);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t vector = v + u * static_cast<int64_t>(blockDim.x);
        if (vector >= vectors) break;
        In x[kOfVector];
        __builtin_memcpy(x, &loaded[u], sizeof(x));
#pragma unroll
        for (int e = 0; e < kOfVector; ++e) {
          f(selectable(widen<Number>(x[e]), begin + vector * kOfVector + e, a.largest));
        }
      }
    }
    first += vectors * kOfVector;
  }
  for (int64_t i = first + threadIdx.x; i < end; i += kAtOnce * blockDim.x) {
    Element<Selects, In, Indexed<Number>> x[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int64_t index = i + u * static_cast<int64_t>(blockDim.x);
      x[u].load_if(index < end, a.source, from + index * a.stride);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int64_t index = i + u * static_cast<int64_t>(blockDim.x);
      if (index < end) f(selectable(x[u].template number<Number>(a.source), index, a.largest));
    }
  }
}

// The items that segments have left, as a type of elements.
struct Left {};

template <class In, class Number, class F>
__device__ __forceinline__ void for_each_item(const SelectArgs& a, int64_t row, int64_t begin, int64_t end, F f) {
  if constexpr (std::is_same<In, Left>::value) {
    const auto* const items = static_cast<const Indexed<Number>*>(a.items) + row * a.n;
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) f(items[i]);
  } else {
    for_each_element<In, Number>(a, row, begin, end, f);
  }
}

template <class In, class Number>
__global__ void __launch_bounds__(kMostSelected) select(const __grid_constant__ SelectArgs a) {
  using Item = Indexed<Number>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int collected;
  Item* const items = reinterpret_cast<Item*>(shared);
  const int room = 1 << a.log_room;
  const Item least = Selects::identity<Item>();  // less than any that has an index
  wait_for_previous_kernel();
  for (int64_t unit = blockIdx.x; unit < a.rows * a.segments; unit += a.grid) {
    const int64_t row = unit / a.segments, begin = (unit - row * a.segments) * a.segment;
    const int64_t end = begin + a.segment < a.n ? begin + a.segment : a.n;
    Item bound = least;
    if (end - begin > room) {
      Item best = least;
      for_each_item<In, Number>(a, row, begin, end, [&](const Item& item) { best = Selects::combine(best, item); });
      __syncthreads();  // what the unit before has selected has been written
      items[threadIdx.x] = best;
      sort_items(items, __ffs(static_cast<int>(blockDim.x)) - 1);
      bound = items[a.count - 1];
    }
    for (;;) {
      __syncthreads();  // the bound has been read
      if (threadIdx.x == 0) collected = 0;
      __syncthreads();
      for_each_item<In, Number>(a, row, begin, end, [&](const Item& item) {
        if (item.rank() < bound.rank()) return;
        const int place = atomicAdd(&collected, 1);
        if (place < room) items[place] = item;
      });
      __syncthreads();
      const int found = collected < room ? collected : room;
      int log_found = 0;
      while (1 << log_found < found) ++log_found;
      for (int i = found + threadIdx.x; i < 1 << log_found; i += blockDim.x) items[i] = least;
      sort_items(items, log_found);
      if (collected <= room) break;
      bound = items[a.count - 1];
    }
    for (int i = threadIdx.x; i < a.count; i += blockDim.x) {
      if (a.segments > 1) {
        static_cast<Item*>(a.out)[unit * a.count + i] = i < end - begin ? items[i] : least;
      } else {
        static_cast<int64_t*>(a.out)[a.kept.out(row) + i * a.out_stride] = Selects::finish(items[i], 0);
      }
    }
  }
}

}  // namespace torch_reduce::cuda
