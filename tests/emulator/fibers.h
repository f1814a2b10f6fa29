// A CTA on the CPU: a thread is a fiber, which runs until a barrier or an exchange of its warp.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace emulator {

constexpr int kWarp = 32, kMostThreads = 1024;
constexpr size_t kStackBytes = 1 << 16;

struct Index {
  unsigned x = 0;
};
struct Group {  // the threads of a CTA, or of a warp of it
  int live = 0, arrived = 0;
  long generation = 0;
  uint64_t value[2][kWarp];  // of the lanes, by the parity of the generation

  void arrive() {
    if (++arrived == live) release();
  }
  void leave() {
    --live;
    if (arrived > 0 && arrived == live) release();
  }
  void release() {
    arrived = 0;
    ++generation;
  }
};
struct Fiber {
  std::jmp_buf here;
  std::unique_ptr<char[]> stack;
  bool begun = false, done = false;  // begun: it has its stack, and takes a thread of one CTA after the other
  const Group* waits = nullptr;
  long generation = 0;
  long in_cluster = -1;  // the cluster's barrier that it has come to last
};

inline Index thread, block, size;
inline Fiber fibers[kMostThreads];
inline Group cta, warps[kMostThreads / kWarp];
inline Group cluster;  // of whose CTAs one runs at a time
inline std::jmp_buf scheduler;
inline void (*entry)(void*);
inline void* argument;

// Threads run, and CTAs follow one another, from the last to the first one. What holds in one order alone lacks a
// barrier.
inline bool backward = false;

// What a kernel did that a GPU would not forgive: the first such thing of a launch.
inline std::string failure;
inline void fail(const char* what) {
  if (failure.empty()) failure = what;
}

inline void pause() {
  if (_setjmp(fibers[thread.x].here) == 0) _longjmp(scheduler, 1);
}
inline void wait_until_past(const Group& group, long generation) {
  if (group.generation != generation) return;
  Fiber& self = fibers[thread.x];
  self.waits = &group;
  self.generation = generation;
  pause();
  self.waits = nullptr;
}
inline void wait_for(Group& group) {
  const long generation = group.generation;
  group.arrive();
  wait_until_past(group, generation);
}

inline void run_fiber() {
  for (;;) {
    entry(argument);
    Fiber& self = fibers[thread.x];
    warps[thread.x / kWarp].leave();
    cta.leave();
    if (self.in_cluster == cluster.generation) --cluster.arrived;
    cluster.leave();
    self.done = true;
    pause();
  }
}

// A context only begins a fiber: swapcontext() asks the system for the mask of signals, which is most of its time.
inline void resume(Fiber& f) {
  if (_setjmp(scheduler) != 0) return;
  if (f.begun) _longjmp(f.here, 1);
  f.begun = true;
  if (!f.stack) f.stack = std::make_unique<char[]>(kStackBytes);
  ucontext_t begin;
  getcontext(&begin);
  begin.uc_stack.ss_sp = f.stack.get();
  begin.uc_stack.ss_size = kStackBytes;
  begin.uc_link = nullptr;
  makecontext(&begin, run_fiber, 0);
  setcontext(&begin);
}

inline void run_cta(unsigned index, int threads) {
  block.x = index;
  size.x = static_cast<unsigned>(threads);
  cta = cluster = Group{threads};
  for (int w = 0; w < threads / kWarp; ++w) warps[w] = Group{kWarp};
  for (int i = 0; i < threads; ++i) {
    fibers[i].done = false;
    fibers[i].waits = nullptr;
    fibers[i].in_cluster = -1;
  }
  for (int left = threads; left > 0;) {
    bool moved = false;
    for (int i = 0; i < threads; ++i) {
      const int mine = backward ? threads - 1 - i : i;
      Fiber& f = fibers[mine];
      if (f.done || (f.waits && f.waits->generation == f.generation)) continue;
      thread.x = static_cast<unsigned>(mine);
      resume(f);
      left -= f.done;
      moved = true;
    }
    if (moved) continue;
    fail("threads wait for one another");
    for (Fiber& f : fibers) f.begun = false;
    return;
  }
}

// Every lane's value, by lane. All lanes of the warp take part.
template <class T>
const uint64_t* gather(T v) {
  Group& warp = warps[thread.x / kWarp];
  uint64_t* const value = warp.value[warp.generation & 1];
  value[thread.x % kWarp] = 0;
  std::memcpy(&value[thread.x % kWarp], &v, sizeof(v));
  wait_for(warp);
  return value;
}

}  // namespace emulator
