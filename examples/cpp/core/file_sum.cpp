// Sums a file of float32 numbers that may be larger than memory, in pieces, without PyTorch.
//   file_sum numbers.f32 [elements of a piece]
//
// The result has the bits of torch_reduce.sum over the whole file in mode deterministic, whatever the size of a piece.
// A piece is an aligned power of two of chunks, so its sum is a subtree of the canonical order (docs/order.md); the
// pieces' sums then combine as the same tree of neighbours, by a counter that keeps one partial a level. What is wrong
// with adding them up instead: the bits would depend on the size of a piece, and the error would grow with their
// number.
#include <torch_reduce/core.h>
#include <torch_reduce/order.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace core = torch_reduce::core;
namespace order = torch_reduce::order;

int main(int argc, char** argv) {
  const int64_t piece = argc > 2 ? std::atoll(argv[2]) : int64_t{1} << 22;
  if (argc < 2 || piece < order::kChunk || (piece & (piece - 1)) != 0) {
    std::fprintf(stderr, "usage: file_sum numbers.f32 [elements of a piece: a power of two, at least %d]\n",
                 order::kChunk);
    return 2;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(argv[1], "rb"), std::fclose);
  if (!file) {
    std::perror(argv[1]);
    return 1;
  }

  std::vector<float> numbers(static_cast<size_t>(piece));
  order::Counter<order::Sum, float, 31> pieces;
  int64_t n = 0;
  for (;;) {
    const size_t count = std::fread(numbers.data(), sizeof(float), numbers.size(), file.get());
    if (count == 0) break;
    const int64_t size = static_cast<int64_t>(count);
    core::Reduction sum;  // of float32 into float32, deterministic
    sum.ndim = 1;
    sum.sizes = &size;
    float total;
    const core::Status status = core::reduce_on_host(sum, numbers.data(), &total);
    if (status != core::Status::success) {
      std::fprintf(stderr, "file_sum: %s\n", core::name(status));
      return 1;
    }
    pieces.push(total);
    n += size;
  }
  if (std::ferror(file.get()) != 0) {
    std::perror(argv[1]);
    return 1;
  }

  const float total = order::Sum::finish(pieces.result(), n);
  uint32_t bits;
  std::memcpy(&bits, &total, sizeof(bits));
  std::printf("%lld numbers, sum %.9g, bits %08x\n", static_cast<long long>(n), static_cast<double>(total), bits);
  return 0;
}
