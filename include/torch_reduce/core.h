// The reductions and scans without PyTorch: pointers, sizes, strides and a stream in, a status out.
//
//   find_package(TorchReduce REQUIRED COMPONENTS core)
//   target_link_libraries(app TorchReduce::core)
//
// The same kernels as torch.ops.reduce, and in Mode::deterministic the same bits (docs/order.md), on the host and on
// CUDA. Includes no header of CUDA's or PyTorch's; nothing throws; a status other than success means that nothing was
// launched or written, cuda_error aside.
#ifndef TORCH_REDUCE_CORE_H_  // not #pragma once: that warns where a header is compiled alone
#define TORCH_REDUCE_CORE_H_

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // what a cudaStream_t points to

#define TORCH_REDUCE_PUBLIC __attribute__((visibility("default")))

namespace torch_reduce::core {

enum class Op : uint8_t {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) name,
#include <torch_reduce/operators.def>
};

// The promise about a result's bits, for those that have several.
//   atomic         the usual error bound; bits may differ between runs on CUDA
//   deterministic  the bits depend only on the values reduced, in their order, and on the compute type
//   exact          the real-number sum, mean or sum of squares, rounded once
enum class Mode : uint8_t { atomic, deterministic, exact };

// Of the elements of memory. `boolean` is a byte, zero or not.
enum class DType : uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3fn,  // of elements, and of extremes of them
  float8_e5m2,
};

enum class Status : int {
  success,
  null_pointer,         // sizes, elements, results or the list of dims, where there are some
  bad_op,               // not one of Op; one of two tensors; a scan by one that has none
  bad_dims,             // ndim is not 0 to 64, or a reduced dim is out of range or named twice; a scan of several dims
  bad_sizes,            // a negative size, or more elements than int64 counts
  bad_strides,          // of the output: several results in one place, as one dim or two show it
  unsupported_dtype,    // not one of DType; a mean or a variance that is no floating type; an extremum of another
                        // type than the input
  unsupported_mode,     // not one of Mode; exact where there is none
  no_elements,          // an extremum over nothing
  misaligned_pointer,   // elements at no multiple of their size, or a workspace at none of 16 bytes
  workspace_too_small,  // fewer bytes than the first of the two calls asked for
  wrong_device,         // memory that the current device does not read: the host's, or another device's
  too_large,            // more dims that do not merge, or more results, than a launch holds
  out_of_memory,        // on the host
  no_cuda,              // the library was built without
  cuda_error,           // cuda_error() says which
};

// The enumerator's name, such as "workspace_too_small"; "unknown" for none of them.
TORCH_REDUCE_PUBLIC const char* name(Status status) noexcept;

// What to compute. Sizes and strides count elements; the pointers are read during a call only. The memory of the
// elements and that of the results must not overlap, which is not checked.
struct Reduction {
  Op op = Op::sum;
  Mode mode = Mode::deterministic;
  DType in = DType::float32;
  DType out = DType::float32;            // of the results: see docs/order.md for the type that accumulates
  int ndim = 0;                          // at most 64
  const int64_t* sizes = nullptr;        // [ndim]
  const int64_t* strides = nullptr;      // [ndim], any numbers; null: contiguous, the last dim innermost
  int num_dims = 0;                      // how many dims are reduced; 0: all
  const int* dims = nullptr;             // [num_dims], negative ones count from the end
  const int64_t* out_strides = nullptr;  // [dims kept], in their order; null: contiguous. Of a scan [ndim]
  double correction = 1;                 // of var, std and their pairs: taken off the number of elements
  int64_t out_second = 0;                // of var_mean, std_mean and aminmax, which have two results: from a first one
                                         // to its second one; 0: all second ones follow all first ones
  bool scan = false;                     // a result for every element, of the elements up to it along the one dim that
                                         // is reduced: of those in torch_reduce/scans.def. Of equal
                                         // elements argmax and argmin have the last one's index then
  double order = 2;                      // of norm
};

// Threads for the host: parallel_for runs task(context, begin, end) over pieces of [0, count), of at least `grain`
// indices where there are as many, on up to `count` threads, and returns when all are done; it must not throw. Without
// one the calling thread works alone. The bits do not depend on it.
struct Threads {
  int count = 1;
  void (*parallel_for)(int64_t count, int64_t grain, void* context,
                       void (*task)(void* context, int64_t begin, int64_t end)) = nullptr;
};

// Reduces host memory; of pointers to a device's memory, which the host cannot read, nothing is checked.
TORCH_REDUCE_PUBLIC Status reduce_on_host(const Reduction& reduction, const void* in, void* out,
                                          const Threads& threads = {}) noexcept;

// Reduces memory of the current CUDA device, on a stream of it, in two steps, as CUB's calls are: with a null workspace
// nothing is launched, and `workspace_bytes` is set to what the second call needs (at least 1, and whatever the
// alignment of `in`, which may be null here, as may `out`). The workspace is memory of the device; its contents do not
// matter before or after. Nothing is allocated or synchronised, so calls may be captured into graphs; two that may run
// at the same time need two workspaces.
TORCH_REDUCE_PUBLIC Status reduce_on_cuda(void* workspace, size_t& workspace_bytes, const Reduction& reduction,
                                          const void* in, void* out, CUstream_st* stream) noexcept;

// The cudaError_t behind the calling thread's last Status::cuda_error.
TORCH_REDUCE_PUBLIC int cuda_error() noexcept;

}  // namespace torch_reduce::core

#endif  // TORCH_REDUCE_CORE_H_
