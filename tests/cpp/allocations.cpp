// Calls of the core on the host, each with what it allocated by operator new: "<threads> <case> <allocations>" a line.
// tests/test_core.py.
#include <torch_reduce/core.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

using namespace torch_reduce::core;

namespace {

int allocations = 0;

void* count(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) std::abort();
  return p;
}

// A pool of one: its threads take their turns.
void in_turn(int64_t count, int64_t grain, void* context, void (*task)(void*, int64_t, int64_t)) {
  for (int64_t i = 0; i < count; i += grain) task(context, i, i + grain < count ? i + grain : count);
}

struct Case {
  const char* name;
  std::vector<int64_t> sizes, strides;
  std::vector<int> dims;
};

}  // namespace

void* operator new(std::size_t bytes) { return count(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return count(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t align) { return count(bytes, static_cast<std::size_t>(align)); }
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return count(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }

int main() {
  const std::vector<Case> cases = {
      {"full", {1 << 20}, {1}, {}},
      {"rows", {300, 3000}, {3000, 1}, {1}},
      {"short_rows", {5000, 100}, {100, 1}, {1}},
      {"columns", {3000, 300}, {300, 1}, {0}},
      {"blocks", {3000, 64}, {64, 1}, {0}},
      {"segments", {16, 64, 784}, {64 * 784, 784, 1}, {0, 2}},
      {"tiles", {700, 701}, {1, 700}, {}},
      {"chunks", {64, 4096}, {1, 64}, {}},
      {"bundles", {1024, 512}, {1, 1024}, {}},
      {"strips", {1000, 1000}, {1, 1000}, {}},
  };
  std::vector<float> x(1 << 20, 1), out(5000);
  for (const int threads : {1, 4}) {
    for (const Case& c : cases) {
      Reduction r;
      r.ndim = static_cast<int>(c.sizes.size());
      r.sizes = c.sizes.data();
      r.strides = c.strides.data();
      r.num_dims = static_cast<int>(c.dims.size());
      r.dims = c.dims.data();
      allocations = 0;
      const Status status = reduce_on_host(r, x.data(), out.data(), Threads{threads, in_turn});
      const int counted = allocations;
      int64_t n = 1;
      for (std::size_t d = 0; d < c.sizes.size(); ++d) {
        bool reduced = c.dims.empty();
        for (const int dim : c.dims) reduced |= dim == static_cast<int>(d);
        if (reduced) n *= c.sizes[d];
      }
      if (status != Status::success || out[0] != static_cast<float>(n)) return 1;
      std::printf("%d %s %d\n", threads, c.name, counted);
    }
  }
}
