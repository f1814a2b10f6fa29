// torch_reduce/core.h for ctypes: tests/support/core_calls.py.
#include <torch_reduce/core.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace torch_reduce::core;

namespace {

// Threads started for the call, each with an equal share.
template <int Count>
void on_threads(int64_t count, int64_t grain, void* context, void (*task)(void*, int64_t, int64_t)) {
  const int64_t share = std::max((count + Count - 1) / Count, grain);
  std::vector<std::thread> threads;
  for (int64_t begin = 0; begin < count; begin += share) {
    threads.emplace_back([=] { task(context, begin, std::min(begin + share, count)); });
  }
  for (auto& thread : threads) thread.join();
}

Reduction reduction(int op, int mode, int in, int out, int ndim, const int64_t* sizes, const int64_t* strides,
                    int num_dims, const int* dims, const int64_t* out_strides, int64_t out_second, bool scan) {
  return {static_cast<Op>(op),
          static_cast<Mode>(mode),
          static_cast<DType>(in),
          static_cast<DType>(out),
          ndim,
          sizes,
          strides,
          num_dims,
          dims,
          out_strides,
          1,
          out_second,
          scan};
}

}  // namespace

extern "C" {

const char* status_name(int status) { return name(static_cast<Status>(status)); }

int on_host(int op, int mode, int in, int out, int ndim, const int64_t* sizes, const int64_t* strides, int num_dims,
            const int* dims, const int64_t* out_strides, int64_t out_second, bool scan, const void* from, void* to,
            int threads) {
  const Reduction r = reduction(op, mode, in, out, ndim, sizes, strides, num_dims, dims, out_strides, out_second, scan);
  return static_cast<int>(reduce_on_host(r, from, to, threads > 1 ? Threads{4, on_threads<4>} : Threads{}));
}

int on_cuda(int op, int mode, int in, int out, int ndim, const int64_t* sizes, const int64_t* strides, int num_dims,
            const int* dims, const int64_t* out_strides, int64_t out_second, bool scan, const void* from, void* to,
            void* workspace, size_t* bytes, void* stream) {
  const Reduction r = reduction(op, mode, in, out, ndim, sizes, strides, num_dims, dims, out_strides, out_second, scan);
  return static_cast<int>(reduce_on_cuda(workspace, *bytes, r, from, to, static_cast<CUstream_st*>(stream)));
}

int last_cuda_error() { return cuda_error(); }

}  // extern "C"
