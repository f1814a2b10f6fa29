// In place of csrc/core/cuda/block/cluster.cuh: the CTAs of a cluster run one after the other, the first one last,
// which the others need for no more than what they hand to it. As they have the same shared memory in turn, an address
// in theirs is the address in the first one's.
#pragma once

#include "core/cuda/lane/device.cuh"
#include "core/plan/gpu/plan.h"
#include "emulator.h"

namespace torch_reduce::cuda {

inline uint32_t rank_in_cluster() { return blockIdx.x % emulator::cluster_ctas; }
inline uint32_t cluster_of_grid() { return blockIdx.x / emulator::cluster_ctas; }

inline void arrive_in_cluster() {
  emulator::fibers[threadIdx.x].in_cluster = emulator::cluster.generation;
  emulator::cluster.arrive();
}

// What is handed over is there from the first barrier on, or not until the second one, by turns: both may be.
inline void wait_for_cluster() {
  const long barrier = emulator::fibers[threadIdx.x].in_cluster;
  if (barrier < 0) emulator::fail("waits for a cluster without having come to its barrier");
  emulator::wait_until_past(emulator::cluster, barrier);
  if (barrier >= 1) emulator::deliver_to(rank_in_cluster());
  if (rank_in_cluster() == 0 && barrier >= static_cast<long>(cluster_of_grid() % 2)) emulator::deliver();
}

inline void check_that_cluster_is_there() {
  if (emulator::fibers[threadIdx.x].in_cluster != 0 || emulator::cluster.generation != 1) {
    emulator::fail("hands something over before the cluster has begun, or when it has come to the end");
  }
}
template <class Acc>
void hand_to_first(Acc* mine, Acc v) {
  check_that_cluster_is_there();
  emulator::hand(mine, v);
}
template <class Acc>
void hand_to(uint32_t rank, Acc* mine, Acc v) {
  check_that_cluster_is_there();
  emulator::hand_on(rank, mine, v);
}

}  // namespace torch_reduce::cuda
