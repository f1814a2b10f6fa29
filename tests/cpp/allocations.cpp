// Calls of the core on the host, on one thread and then on four: how often each allocated by operator new, a line each.
// tests/cpp/test_core_allocations.py.
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

std::vector<int64_t> numbers(const char* text) {
  std::vector<int64_t> found;
  while (*text != '\0') {
    char* end;
    found.push_back(std::strtoll(text, &end, 10));
    text = *end == ',' ? end + 1 : end;
  }
  return found;
}

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

// Three arguments a case, numbers between commas: sizes, strides, and the reduced dims (none: all).
int main(int argc, char** argv) {
  std::vector<float> x(1 << 20, 1), out(5000);
  for (const int threads : {1, 4}) {
    for (int a = 1; a + 2 < argc; a += 3) {
      const std::vector<int64_t> sizes = numbers(argv[a]), strides = numbers(argv[a + 1]), named = numbers(argv[a + 2]);
      const std::vector<int> dims(named.begin(), named.end());
      Reduction r;
      r.ndim = static_cast<int>(sizes.size());
      r.sizes = sizes.data();
      r.strides = strides.data();
      r.num_dims = static_cast<int>(dims.size());
      r.dims = dims.data();
      allocations = 0;
      const Status status = reduce_on_host(r, x.data(), out.data(), Threads{threads, in_turn});
      const int counted = allocations;
      int64_t n = 1;
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        bool reduced = dims.empty();
        for (const int dim : dims) reduced |= dim == static_cast<int>(d);
        if (reduced) n *= sizes[d];
      }
      if (status != Status::success || out[0] != static_cast<float>(n)) return 1;
      std::printf("%d\n", counted);
    }
  }
}
