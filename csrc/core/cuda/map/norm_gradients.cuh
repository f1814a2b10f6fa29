// The gradients of a norm in one pass over the rows: each row's own, and what weight and bias have of all rows.
//
// A CTA takes the rows of a few neighbouring leaves of the sums over the rows, one after the other; a warp has a chunk
// of every row, and a lane the same places of each. So the lane adds up in registers what weight and bias have at its
// places. Leaves that wait for their right neighbours are in shared memory. Of short rows a warp has several side by
// side, each of leaves of its own, and what they have meets in the end.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/lane/copy_groups.cuh"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/map/meet.cuh"
#include "core/plan/gpu/gradients/norm_gradients.h"
#include "core/plan/tuning/norm_gradients.h"

namespace torch_reduce::cuda {

struct NormGradientsArgs {
  const void *grad, *self, *weight, *rows;
  void *out, *partials;                          // of each unit, the sums of every place
  int64_t n, count;                              // of rows
  int64_t grad_stride, self_stride, out_stride;  // from a row to the next
  int log_warps, log_lanes, log_leaves;          // of a row in a CTA, and in a warp; of a group
};

// The rows of a group of neighbouring leaves in the order in which they are added up: leaf by leaf, step by step.
// Groups of a warp take as many turns, in some of which one may have no row.
class GroupRows {
 public:
  __device__ __forceinline__ GroupRows(int64_t group, int log_leaves, int64_t count)
      : first_(order::first_element(group << log_leaves)), count_(count), leaves_(1 << log_leaves) {
    const int64_t of_chunk = count - first_ / kChunk * kChunk;
    steps_ = static_cast<int>(max(min((of_chunk + kLeaves - 1) / kLeaves, int64_t{kSteps}), int64_t{1}));
  }

  __device__ __forceinline__ int64_t row() const { return first_ + leaf_ + step_ * kLeaves; }
  __device__ __forceinline__ bool exists() const { return has_turns() && row() < count_; }
  __device__ __forceinline__ bool has_turns() const { return leaf_ < leaves_; }
  __device__ __forceinline__ int leaf() const { return leaf_; }
  __device__ __forceinline__ bool ends_leaf() const { return step_ == steps_ - 1; }
  __device__ __forceinline__ void advance() {
    const bool ends = ends_leaf();
    leaf_ += ends;
    step_ = ends ? 0 : step_ + 1;
  }

 private:
  int64_t first_, count_;
  int leaves_, steps_, leaf_ = 0, step_ = 0;
};

// M: the derivative, of the gradient in first place and of what the norm was given in second place.
template <class M, class In, bool is_short>
struct NormGradients {
  using Word = float;
  using O = typename M::Reduces;
  using Row = row_of_map<M, Word>;
  using Read = read_of_map<M, Word>;
  static constexpr int V = vector_width<In>, kLoads = is_short ? kLoadsOfShort : kChunk / (kWarp * V);
  static constexpr int kSets = is_short ? kLoads : kLoads / kSteps, kPlaces = kLoads * V * kWarp;  // of a warp
  static constexpr int kStages = tuning::kGradientStages;
  static constexpr int kSums = M::parameters;  // over the rows: of the weight, and of the bias
  using Sums = Word[kSums][kLoads][V];
  // What a lane makes of a row's elements and needs once more.
  struct Made {
    Word normal[kLoads][V], scaled[kLoads][V];  // what the norm was given, normalised; the gradient times the weight
  };

  const NormGradientsArgs& a;
  // At the lane's places, where elements are narrow; wider ones need the registers.
  static constexpr bool keeps_weight = sizeof(In) == 2;
  uint4 weight[keeps_weight ? kLoads : 1];
  uint4* stages;     // [warp][stage][tensor][load][lane]
  Word* levels;      // [warp][level][sum][place][lane]
  int lanes, first;  // of a row in a warp; the lane's first place

  __device__ __forceinline__ NormGradients(const NormGradientsArgs& args, unsigned char* shared) : a(args) {
    constexpr int kStaged = kStages * 2 * kLoads * kWarp;
    const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
    stages = reinterpret_cast<uint4*>(shared) + warp * kStaged + lane;
    levels = reinterpret_cast<Word*>(shared + warps * kStaged * sizeof(uint4)) +
             warp * (a.log_leaves * kSums * kPlaces) + lane;
    lanes = is_short ? 1 << a.log_lanes : kWarp;
    first = (is_short ? 0 : warp * kChunk) + (lane & (lanes - 1)) * V;
  }

  // Which leaves are the lane's.
  __device__ __forceinline__ int64_t group() const {
    if constexpr (!is_short) return blockIdx.x;
    return (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) >> a.log_lanes;
  }
  __device__ __forceinline__ int place(int i) const { return first + i * lanes * V; }
  __device__ __forceinline__ bool exists(int i) const { return place(i) < a.n; }
  __device__ __forceinline__ uint4& staged(int stage, int tensor, int i) const {
    return stages[((stage * 2 + tensor) * kLoads + i) * kWarp];
  }
  __device__ __forceinline__ Word& waiting(int level, int sum, int i, int e) const {
    return levels[(((level * kSums + sum) * kLoads + i) * V + e) * kWarp];
  }

  // What all rows share.
  __device__ __forceinline__ void load_weights() {
    if constexpr (keeps_weight) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) weight[i] = load_weight(i);
    }
  }
  __device__ __forceinline__ void load(int stage, int64_t row) const {
    const In* const grad = static_cast<const In*>(a.grad) + row * a.grad_stride;
    const In* const self = static_cast<const In*>(a.self) + row * a.self_stride;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (exists(i)) {
        copy16(&staged(stage, 0, i), grad + place(i));
        copy16(&staged(stage, 1, i), self + place(i));
      }
    }
  }

  // What the row's own gradients need of it, as far as the warp has it; and adds what weight and bias have of it.
  // `is_row`: there is one.
  __device__ __forceinline__ void reduce(int stage, bool is_row, const Read& norm, Sums& sums, Made& made,
                                         Word (&total)[M::sums]) const {
    Word set[M::sums][kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Word leaf[M::sums][V];
#pragma unroll
      for (int i = s; i < kLoads; i += kSets) {
        if (!is_row || !exists(i)) break;
        Word grad[V], self[V], factor[V];
        widen_vector<In>(staged(stage, 0, i), grad);
        widen_vector<In>(staged(stage, 1, i), self);
        widen_vector<In>(keeps_weight ? weight[keeps_weight ? i : 0] : load_weight(i), factor);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          const Word normal = M::normal(self[e], norm), scaled = grad[e] * factor[e];
          made.normal[i][e] = normal;
          made.scaled[i][e] = scaled;
          add(leaf[0][e], M::template number_of<0>(scaled, normal), i == s);
          if constexpr (M::sums > 1) add(leaf[1][e], M::template number_of<1>(scaled, normal), i == s);
          sums[0][i][e] += grad[e] * normal;
          if constexpr (kSums > 1) sums[1][i][e] += grad[e];
        }
      }
#pragma unroll
      for (int k = 0; k < M::sums; ++k) {
        set[k][s] = is_row && exists(s) ? tree<O>(leaf[k]) : O::template identity<Word>();
      }
    }
#pragma unroll
    for (int k = 0; k < M::sums; ++k) {
      if constexpr (is_short) {
        total[k] = tree_of_lanes<O>(set[k], lanes);
      } else {
        total[k] = tree_across_warp_and_sets<O, kSets>(set[k]);
      }
    }
  }
  __device__ __forceinline__ void store(int64_t row, const Made& made, const Row& of_row) const {
    In* const out = static_cast<In*>(a.out) + row * a.out_stride;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (!exists(i)) break;
      Word y[V];
#pragma unroll
      for (int e = 0; e < V; ++e) y[e] = M::value_of(made.scaled[i][e], made.normal[i][e], of_row);
      write_vectors(out + place(i), y);
    }
  }

  // f(sum, i, e) of all that the lane has.
  template <class F>
  __device__ __forceinline__ void for_places(F f) const {
#pragma unroll
    for (int sum = 0; sum < kSums; ++sum) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int e = 0; e < V; ++e) f(sum, i, e);
      }
    }
  }
  // Of no row: adding to it changes no bit, nor does adding it.
  __device__ __forceinline__ void begin(Sums& sums) const {
    for_places([&](int s, int i, int e) { sums[s][i][e] = O::template identity<Word>(); });
  }
  // The leaf's sums join those of the leaves before it. The last one's are those of the group.
  __device__ __forceinline__ void push(int leaf, Sums& sums) const {
    int level = 0;
    for (; leaf >> level & 1; ++level) {
      for_places([&](int s, int i, int e) { sums[s][i][e] = waiting(level, s, i, e) + sums[s][i][e]; });
    }
    if (level < a.log_leaves) for_places([&](int s, int i, int e) { waiting(level, s, i, e) = sums[s][i][e]; });
  }
  // What the CTA's groups have, which are neighbours, is the first one's in the end. A warp leaves what it has for its
  // left neighbour where its rows have been.
  __device__ __forceinline__ void meet(Sums& sums) const {
#pragma unroll 1
    for (int mask = lanes; mask < kWarp; mask *= 2) {
      for_places(
          [&](int s, int i, int e) { sums[s][i][e] = O::combine(sums[s][i][e], exchange(sums[s][i][e], mask)); });
    }
    constexpr int kNext = kStages * 2 * kLoads * kWarp * sizeof(uint4) / sizeof(Word);  // words from a warp to the next
    static_assert(kSums * kPlaces <= kNext, "what a warp's rows leave room for");
    const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
    Word* const left = reinterpret_cast<Word*>(stages - lane) + lane;
    const auto index = [](int s, int i, int e) { return ((s * kLoads + i) * V + e) * kWarp; };
#pragma unroll 1
    for (int width = 1; width < warps; width *= 2) {
      const int of_pair = warp & (2 * width - 1);
      if (of_pair == width) for_places([&](int s, int i, int e) { left[index(s, i, e)] = sums[s][i][e]; });
      __syncthreads();
      if (of_pair == 0) {
        const Word* const right = left + width * kNext;
        for_places([&](int s, int i, int e) { sums[s][i][e] = O::combine(sums[s][i][e], right[index(s, i, e)]); });
      }
    }
  }
  __device__ __forceinline__ void leave(const Sums& sums) const {
    if (is_short && threadIdx.x >= static_cast<unsigned>(lanes)) return;
    Word* const to = static_cast<Word*>(a.partials) + static_cast<int64_t>(blockIdx.x) * kSums * a.n;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (exists(i)) write_vectors(to + s * a.n + place(i), sums[s][i]);
      }
    }
  }

 private:
  __device__ __forceinline__ uint4 load_weight(int i) const {
    if (a.weight != nullptr && exists(i)) return load16_kept(static_cast<const In*>(a.weight) + place(i));
    Vector<In> ones;
#pragma unroll
    for (In& e : ones.e) e = Narrow<In, Word>::from(1);
    return bit_cast<uint4>(ones);
  }
  static __device__ __forceinline__ void add(Word& to, Word x, bool is_first) { to = is_first ? x : to + x; }
};

template <class M, class In, bool is_short>
__global__ void __maxnreg__(tuning::gradient_registers(NormGradients<M, In, is_short>::kSums))
    norm_gradients(const __grid_constant__ NormGradientsArgs a) {
  using Gradients = NormGradients<M, In, is_short>;
  using Read = typename Gradients::Read;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ float slots[2][M::sums][tuning::kMapMostWarps];  // in turn: a row's are read while the next one's come
  Gradients mine(a, shared);
  GroupRows now(mine.group(), a.log_leaves, a.count), ahead = now;
  const auto load_ahead = [&](int stage) {
    if (ahead.exists()) mine.load(stage, ahead.row());
    if (ahead.has_turns()) ahead.advance();
    commit_copies();
  };
  const auto norm_of = [&](const auto& rows) {
    return rows.exists() ? static_cast<const Read*>(a.rows)[rows.row()] : Read{};
  };

  wait_for_previous_kernel();
  mine.load_weights();
#pragma unroll
  for (int stage = 0; stage < Gradients::kStages; ++stage) load_ahead(stage);
  Read norm = norm_of(now);
  typename Gradients::Sums sums;
  typename Gradients::Made made;
  mine.begin(sums);
#pragma unroll 1
  for (int k = 0, stage = 0; now.has_turns(); ++k, stage = stage + 1 < Gradients::kStages ? stage + 1 : 0) {
    auto next = now;
    next.advance();
    const Read of_next = norm_of(next);
    wait_for_copies_but<Gradients::kStages - 1>();
    float total[M::sums];
    mine.reduce(stage, now.exists(), norm, sums, made, total);
    load_ahead(stage);
    if (!is_short && a.log_warps > 0) across_warps<typename M::Reduces>(slots[k & 1], 1 << a.log_warps, total);
    const auto of_row = M::finish(total, RowOf<float>{a.n, 0, 0, 1}, norm);
    if (now.exists()) mine.store(now.row(), made, of_row);
    if (now.ends_leaf()) {
      mine.push(now.leaf(), sums);
      if (next.has_turns()) mine.begin(sums);
    }
    now = next;
    norm = of_next;
  }
  allow_next_kernel();
  if constexpr (is_short) mine.meet(sums);
  mine.leave(sums);
}

}  // namespace torch_reduce::cuda
